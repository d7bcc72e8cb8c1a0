// Decides whether anything may be sent to an address.
import { EgressFailed } from './egress-failed.ts'

/** Says why an address is not to be reached; undefined where it may be. */
export type EgressRule = (url: URL) => string | undefined

const MAX_LENGTH = 8192

/** The address, read; throws `EgressFailed` where nothing may be sent to it. */
export function checkAddress(text: string, schemes: readonly string[], allow?: EgressRule): URL {
  const url = text.length <= MAX_LENGTH ? URL.parse(text) : null
  if (url === null || url.hostname === '') throw refused('the address', 'is none that can be read')
  const where = `${url.protocol}//${url.host}`
  if (!schemes.includes(url.protocol)) {
    const names = schemes.map((scheme) => scheme.slice(0, -1)).join(' or ')
    throw refused(where, `is no ${names} address`)
  }
  // Credentials of an address end up in logs and in headers that nobody asked for.
  if (url.username !== '' || url.password !== '')
    throw refused(where, 'has credentials in its address; hand them over as a header or a secret')
  const why = allow?.(url)
  if (why !== undefined) throw refused(where, why)
  return url
}

function refused(where: string, why: string): EgressFailed {
  return new EgressFailed('refused', where, why)
}
