// The connections to services over HTTP: what a composition root hands to its World as `network`. Each of them is
// dialled through the guard, so that none ends where its user may not reach.
import { Agent, Dispatcher } from 'undici'
import { REACHES, type Reach } from '../util/address-class.ts'
import { Blocked, blockedLiteral, guardedLookup, type Resolve } from './dial.ts'

export interface NetworkOptions {
  /** How long a connection may take, TLS included. @default 10_000 */
  readonly connectTimeoutMs?: number
  /** How long a connection for harmless repeats stays open unused. @default 4_000 */
  readonly idleMs?: number
  /** The same for sends that must not be repeated. @default 1_000 */
  readonly writeIdleMs?: number
  /** The header of a reply, in bytes. @default 16_384 */
  readonly maxHeaderBytes?: number
  /** What names stand for. @default as the system says */
  readonly resolve?: Resolve
  /** Whom it trusts and who it is, in PEM form. @default the authorities of the system, and nobody */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string }
}

/** What a guarded dispatch says beside what undici knows. */
export interface GuardedDispatch extends Dispatcher.DispatchOptions {
  /** @default 'public' */
  readonly reach?: Reach
}

/**
 * Two pools for each reach behind one dispatcher. A kept-alive connection that the peer closes just as it is used again
 * makes an unknown out of nothing; for a send that cannot be repeated that costs a person's time, so those use
 * connections that were in use a moment ago, or new ones (S25). `idempotent` of the dispatch options chooses. A
 * connection that was dialled with one reach is never used with another.
 */
export function createNetwork(options: NetworkOptions = {}): Dispatcher {
  return new Network(options)
}

/** The same network for users who cannot say their reach with each request, such as a `fetch`. */
export function withReach(network: Dispatcher, reach: Reach): Dispatcher {
  return network.compose((dispatch) => (options, handler) => {
    const guarded: GuardedDispatch = { ...options, reach }
    return dispatch(guarded, handler)
  })
}

/** What names stand for in this network, for connections that are not HTTP; undefined: as the system says. */
export function resolverOf(network: Dispatcher): Resolve | undefined {
  return network instanceof Network ? network.resolve : undefined
}

class Network extends Dispatcher {
  readonly resolve: Resolve | undefined
  readonly #harmless: Pools
  readonly #careful: Pools
  /** Origins that were let through. What a literal address is never changes, and names are judged when they are dialled. */
  readonly #judged = Object.fromEntries(REACHES.map((reach) => [reach, new Set()])) as Judged

  constructor(options: NetworkOptions) {
    super()
    this.resolve = options.resolve
    const common = { maxHeaderSize: options.maxHeaderBytes ?? 16_384, pipelining: 1 }
    const connect = { ...options.tls, timeout: options.connectTimeoutMs ?? 10_000 }
    const writeIdleMs = options.writeIdleMs ?? 1_000
    const pools = (more: Agent.Options): Pools =>
      poolsOf((reach) => {
        const lookup = guardedLookup(reach, options.resolve)
        return new Agent({ ...common, ...more, connect: { ...connect, lookup } })
      })
    // HTTP/2 where it is offered, but only here: undici sends a stream that was refused again by itself.
    this.#harmless = pools({ allowH2: true, keepAliveTimeout: options.idleMs ?? 4_000 })
    this.#careful = pools({
      allowH2: false,
      keepAliveTimeout: writeIdleMs,
      // The maximum holds against what the peer promises in its Keep-Alive header, too.
      keepAliveMaxTimeout: writeIdleMs,
    })
  }

  /** Throws `Blocked` for a literal address out of reach; a name that stands for one fails as a connection does. */
  override dispatch(options: GuardedDispatch, handler: Dispatcher.DispatchHandler): boolean {
    const { reach = 'public', origin, idempotent } = options
    if (typeof origin !== 'string' || !this.#judged[reach].has(origin)) this.#judge(origin, reach)
    return (idempotent === true ? this.#harmless : this.#careful)[reach].dispatch(options, handler)
  }

  #judge(origin: string | URL | undefined, reach: Reach): void {
    const why = blockedLiteral(origin === undefined ? '' : new URL(origin).hostname, reach)
    if (why !== undefined) throw new Blocked(`the address ${why}`)
    if (typeof origin !== 'string') return
    const judged = this.#judged[reach]
    if (judged.size === MAX_JUDGED) judged.clear()
    judged.add(origin)
  }

  override close(): Promise<void>
  override close(callback: () => void): void
  override close(callback?: () => void): Promise<void> | void {
    return settle(Promise.all(this.#agents().map((agent) => agent.close())), callback)
  }

  override destroy(): Promise<void>
  override destroy(error: Error | null): Promise<void>
  override destroy(callback: () => void): void
  override destroy(error: Error | null, callback: () => void): void
  override destroy(first?: Error | null | (() => void), second?: () => void): Promise<void> | void {
    const error = typeof first === 'function' || first === undefined ? null : first
    const callback = typeof first === 'function' ? first : second
    return settle(Promise.all(this.#agents().map((agent) => agent.destroy(error))), callback)
  }

  #agents(): readonly Agent[] {
    return [...Object.values(this.#harmless), ...Object.values(this.#careful)]
  }
}

type Pools = Readonly<Record<Reach, Agent>>
type Judged = Readonly<Record<Reach, Set<string>>>

/** Of each reach: origins can be many where redirects are followed. */
const MAX_JUDGED = 1_000

function poolsOf(create: (reach: Reach) => Agent): Pools {
  return Object.fromEntries(REACHES.map((reach) => [reach, create(reach)])) as Pools
}

function settle(all: Promise<unknown>, callback: (() => void) | undefined): Promise<void> | void {
  const done = all.then(() => {})
  if (callback === undefined) return done
  done.then(callback)
}
