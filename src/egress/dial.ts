// Connections that end only where their user may reach: the address that is dialled is the one that was judged.
//
// A name is looked up once, every address it stands for is judged, and those are what is dialled: there is no second
// look-up between the check and the connection that could answer otherwise.
import { type LookupAddress, type LookupOptions, lookup } from 'node:dns'
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { Abort } from '../util/abort.ts'
import { outOfReach, type Reach } from '../util/address-class.ts'
import type { World } from '../util/world.ts'
import { EgressFailed } from './egress-failed.ts'

/** Of the error that a guarded look-up ends in; nothing was sent. */
export const BLOCKED = 'EGRESS_BLOCKED'

export class Blocked extends Error {
  readonly code = BLOCKED
}

/** What a name stands for: every address of it. */
export type Resolve = (
  hostname: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void

/** For `net.connect` and `tls.connect`. They do not call it for a literal address: see `blockedLiteral`. */
export function guardedLookup(reach: Reach, resolve: Resolve = lookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, all) => {
      if (error !== null) {
        callback(error, [])
        return
      }
      // One bad address blocks the name: a service that answers with an inner address beside a good one is not trusted.
      const why = all.map(({ address }) => outOfReach(address, reach)).find((one) => one !== undefined)
      const [first] = all
      if (why !== undefined || first === undefined) {
        callback(new Blocked(`the name stands for an address that ${why ?? 'is none'}`), [])
      } else if (options.all === true) callback(null, [...all])
      else callback(null, first.address, first.family)
    })
  }
}

/** Why a host that is a literal address, in whatever notation a URL takes, is out of reach. */
export function blockedLiteral(host: string, reach: Reach): string | undefined {
  const address = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host
  return isIP(address) === 0 ? undefined : outOfReach(address, reach)
}

export interface Dial {
  /** As in a URL: a name, an IPv4 address or a bracketed IPv6 one. */
  readonly host: string
  readonly port: number
  readonly reach: Reach
  /** Absent: no TLS. */
  readonly tls?: { readonly alpn?: readonly string[]; readonly ca?: string | Buffer }
  /** To connect, TLS included. @default 10 s */
  readonly timeoutMs?: number
  /** Gives up at once. */
  readonly abort?: Abort
  /** What a name stands for. @default as the system says */
  readonly resolve?: Resolve | undefined
}

/** Connected, and for TLS verified. Rejects with `EgressFailed`; `refused` where the guard said no. */
export function dial(world: Pick<World, 'after'>, to: Dial): Promise<Socket | TLSSocket> {
  const { host, port, reach, tls, timeoutMs = 10_000, abort, resolve: resolver } = to
  const where = `${host}:${port}`
  const literal = blockedLiteral(host, reach)
  if (literal !== undefined) return Promise.reject(new EgressFailed('refused', where, literal))
  const bare = host.startsWith('[') ? host.slice(1, -1) : host
  const common = { host: bare, port, lookup: guardedLookup(reach, resolver) }
  return new Promise((resolve, reject) => {
    const socket =
      tls === undefined
        ? connect(common)
        : connectTls({
            ...common,
            ...(isIP(bare) === 0 ? { servername: bare } : {}),
            ...(tls.alpn === undefined ? {} : { ALPNProtocols: [...tls.alpn] }),
            ...(tls.ca === undefined ? {} : { ca: tls.ca }),
          })
    let unlisten = () => {}
    const fail = (reason: 'refused' | 'timeout' | 'unreachable', why: string) => {
      timer.cancel()
      unlisten()
      socket.destroy()
      reject(new EgressFailed(reason, where, why))
    }
    const timer = world.after(timeoutMs, () => fail('timeout', `took longer than ${timeoutMs} ms`))
    const failed = (error: Error & { readonly code?: string }) =>
      error.code === BLOCKED
        ? fail('refused', error.message)
        : fail('unreachable', error.code ?? 'the connection failed')
    // Whatever follows the first one changes nothing.
    socket.on('error', failed)
    if (abort !== undefined) unlisten = abort.listen(() => fail('unreachable', 'it is no longer wanted'))
    socket.once(tls === undefined ? 'connect' : 'secureConnect', () => {
      timer.cancel()
      unlisten()
      socket.off('error', failed)
      resolve(socket)
    })
  })
}
