// The connections to HTTP tools: what a composition root hands to its World as `network`.
import { Agent, Dispatcher } from 'undici'

export interface NetworkOptions {
  /** How long a connection may take, TLS included. @default 10_000 */
  readonly connectTimeoutMs?: number
  /** How long a connection for harmless repeats stays open unused. @default 4_000 */
  readonly idleMs?: number
  /** The same for sends that must not be repeated. @default 1_000 */
  readonly writeIdleMs?: number
  /** The header of a reply, in bytes. @default 16_384 */
  readonly maxHeaderBytes?: number
}

/**
 * Two pools behind one dispatcher. A kept-alive connection that the peer closes just as it is used again makes an
 * unknown out of nothing; for a send that cannot be repeated that costs a person's time, so those use connections
 * that were in use a moment ago, or new ones (S25). `idempotent` of the dispatch options chooses.
 */
export function createNetwork(options: NetworkOptions = {}): Dispatcher {
  return new Network(options)
}

class Network extends Dispatcher {
  readonly #harmless: Agent
  readonly #careful: Agent

  constructor(options: NetworkOptions) {
    super()
    const common = {
      connect: { timeout: options.connectTimeoutMs ?? 10_000 },
      maxHeaderSize: options.maxHeaderBytes ?? 16_384,
      // One request per connection at a time, and no HTTP/2: undici sends refused HTTP/2 streams again by itself.
      pipelining: 1,
      allowH2: false,
    }
    this.#harmless = new Agent({ ...common, keepAliveTimeout: options.idleMs ?? 4_000 })
    const writeIdleMs = options.writeIdleMs ?? 1_000
    // The maximum holds against what the peer promises in its Keep-Alive header, too.
    this.#careful = new Agent({ ...common, keepAliveTimeout: writeIdleMs, keepAliveMaxTimeout: writeIdleMs })
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    return (options.idempotent === true ? this.#harmless : this.#careful).dispatch(options, handler)
  }

  override close(): Promise<void>
  override close(callback: () => void): void
  override close(callback?: () => void): Promise<void> | void {
    return settle(Promise.all([this.#harmless.close(), this.#careful.close()]), callback)
  }

  override destroy(): Promise<void>
  override destroy(error: Error | null): Promise<void>
  override destroy(callback: () => void): void
  override destroy(error: Error | null, callback: () => void): void
  override destroy(first?: Error | null | (() => void), second?: () => void): Promise<void> | void {
    const error = typeof first === 'function' || first === undefined ? null : first
    const callback = typeof first === 'function' ? first : second
    return settle(Promise.all([this.#harmless.destroy(error), this.#careful.destroy(error)]), callback)
  }
}

function settle(all: Promise<unknown>, callback: (() => void) | undefined): Promise<void> | void {
  const done = all.then(() => {})
  if (callback === undefined) return done
  done.then(callback)
}
