// A token endpoint on loopback for tools with profile oauth2_client_credentials: what it gives follows from what it is shown.
import { sha256Hex } from '../util/canonical.ts'
import { headerOf, listen, type Service, type ServiceReply } from './backend/loopback.ts'
import { objectOf } from './envelope.ts'

export interface ClientFacts {
  readonly clientId: string
  readonly clientSecret: string
  /** As in a request: parted by blanks. */
  readonly scope: string
}

/** The token of this client. Another id, secret or scope has another one. */
export function accessTokenOf({ clientId, clientSecret, scope }: ClientFacts): string {
  return `access-${sha256Hex('conformance-token', JSON.stringify([clientId, clientSecret, scope]))}`
}

export function openTokenEndpoint(): Promise<Service> {
  return listen(async ({ headers, body }): Promise<ServiceReply> => {
    const { grant_type: grant, scope } = objectOf(body)
    const [, encoded = ''] = /^Basic (.+)$/.exec(headerOf(headers, 'authorization')) ?? []
    const [clientId, clientSecret] = Buffer.from(encoded, 'base64')
      .toString()
      .split(':')
      .map(decodeURIComponent)
    if (clientId === undefined || clientSecret === undefined)
      return { status: 401, body: { error: 'invalid_client' } }
    if (grant !== 'client_credentials') return { status: 400, body: { error: 'unsupported_grant_type' } }
    const token = accessTokenOf({ clientId, clientSecret, scope: String(scope ?? '') })
    return { status: 200, body: { access_token: token, token_type: 'Bearer', expires_in: 600 } }
  })
}
