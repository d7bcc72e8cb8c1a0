// What happened in a run, as a hash of all of it and the last lines for people.

const KEPT = 60

export class Trace {
  readonly #verbose: ((line: string) => void) | undefined
  readonly #last: string[] = []
  #high = 0x811c9dc5
  #low = 0x9dc5811c
  #lines = 0

  constructor(verbose?: (line: string) => void) {
    this.#verbose = verbose
  }

  get lines(): number {
    return this.#lines
  }

  /** Two runs with the same hash had the same lines in the same order. */
  get hash(): string {
    return [this.#high, this.#low].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
  }

  get last(): readonly string[] {
    return this.#last
  }

  add(line: string): void {
    this.#lines++
    let high = this.#high
    let low = this.#low
    for (let index = 0; index < line.length; index++) {
      const code = line.charCodeAt(index)
      high = Math.imul(high ^ code, 0x01000193)
      low = Math.imul(low ^ code, 0x85ebca6b) ^ (high >>> 13)
    }
    this.#high = Math.imul(high ^ 10, 0x01000193)
    this.#low = Math.imul(low ^ 10, 0xc2b2ae35)
    this.#last.push(line)
    if (this.#last.length > KEPT) this.#last.shift()
    this.#verbose?.(line)
  }
}
