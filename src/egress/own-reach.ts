// How far in the server itself may reach: for the keys of issuers, webhooks, mail, anchors and secrets, which the
// operator sets up. Tools declare their own.
import type { Reach } from '../util/address-class.ts'

export interface OwnReachOptions {
  readonly profile: 'local' | 'production'
  /** Origins, such as `https://vault.internal:8200` or `smtp://127.0.0.1:25`, that may be private or on this machine. */
  readonly private?: readonly string[]
}

export type OwnReach = (url: URL) => Reach

/** Profile local reaches this machine. Anything further in, and in production that too, is named by the operator. */
export function createOwnReach({ profile, private: named = [] }: OwnReachOptions): OwnReach {
  for (const origin of named) {
    const problem = originProblem(origin)
    if (problem !== undefined)
      throw new TypeError(`egress_private: '${origin}' ${problem}. Fix: write it such as https://vault:8200`)
  }
  const places = new Set(named.map((origin) => placeOf(new URL(origin))))
  return (url) => (places.has(placeOf(url)) ? 'private' : profile === 'local' ? 'loopback' : 'public')
}

/** Why an entry of such a list cannot be read. */
function originProblem(entry: string): string | undefined {
  const url = URL.parse(entry)
  if (url === null || url.hostname === '') return 'is no origin'
  if (!Object.hasOwn(OWN_PORTS, url.protocol)) return 'is no http, https, smtp or smtps origin'
  if (url.username !== '' || url.password !== '') return 'holds a user name or password'
  return /^\/?$/.test(url.pathname) && url.search === '' && url.hash === '' ? undefined : 'has a path'
}

const OWN_PORTS: Readonly<Record<string, string>> = {
  'http:': '80',
  'https:': '443',
  'smtp:': '25',
  'smtps:': '465',
}

/** Schemes that URL does not know keep their own port, upper case and dots. */
function placeOf(url: URL): string {
  const port = url.port === '' ? (OWN_PORTS[url.protocol] ?? '') : url.port
  return `${url.protocol}//${url.hostname.toLowerCase()}:${port}`
}
