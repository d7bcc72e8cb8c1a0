// A one-shot stop signal with a reason. AbortSignal costs microseconds to make and to combine; most calls never need one.

export type AbortReason = 'canceled' | 'timeout' | 'hang-up' | 'shutdown'

export class Abort {
  #reason: AbortReason | undefined
  #listeners: Set<(reason: AbortReason) => void> | undefined
  #controller: AbortController | undefined

  get reason(): AbortReason | undefined {
    return this.#reason
  }

  get aborted(): boolean {
    return this.#reason !== undefined
  }

  /** The same stop as an AbortSignal, for code that wants one; made on first use. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /** The first reason wins; later ones are ignored. */
  abort(reason: AbortReason): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    const listeners = this.#listeners
    this.#listeners = undefined
    if (listeners) for (const listener of listeners) listener(reason)
    this.#controller?.abort(reason)
  }

  /** Calls back on abort, at once when it already happened. Returns how to stop listening. */
  listen(listener: (reason: AbortReason) => void): () => void {
    if (this.#reason !== undefined) {
      listener(this.#reason)
      return () => {}
    }
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
    return () => this.#listeners?.delete(listener)
  }
}

/** undefined when the abort came first; what comes later is handed to `late`. */
export function untilAbort<T>(
  work: Promise<T>,
  abort: Abort,
  late: (value: T) => void = () => {},
): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    let left = false
    const unlisten = abort.listen(() => {
      left = true
      resolve(undefined)
    })
    work
      .then(
        (value) => {
          if (left) late(value)
          else resolve(value)
        },
        (error: unknown) => {
          if (!left) reject(error)
        },
      )
      .finally(() => unlisten())
  })
}
