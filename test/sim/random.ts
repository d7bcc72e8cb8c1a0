// Seeded chance. Streams are forked by name, so that taking one thing out of a run leaves the rest of it as it was.

/** Two 32-bit words from a text (MurmurHash3's finish over each character). */
function mixed(text: string): [number, number, number, number] {
  let a = 0x9e3779b9
  let b = 0x85ebca6b
  let c = 0xc2b2ae35
  let d = 0x27d4eb2f
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    a = Math.imul(a ^ code, 0x85ebca6b)
    b = Math.imul(b ^ code, 0xc2b2ae35) ^ (a >>> 15)
    c = Math.imul(c ^ code, 0x27d4eb2f) ^ (b >>> 13)
    d = Math.imul(d ^ code, 0x165667b1) ^ (c >>> 16)
  }
  return [a ^ d, b ^ a, c ^ b, d ^ c]
}

export class Random {
  readonly #name: string
  /** The state of sfc32: small, fast, and passes the usual batteries. */
  #a: number
  #b: number
  #c: number
  #d: number

  constructor(name: string) {
    this.#name = name
    ;[this.#a, this.#b, this.#c, this.#d] = mixed(name)
    for (let round = 0; round < 12; round++) this.next()
  }

  /** Another stream, which depends on the names alone, not on what was drawn from this one. */
  fork(...labels: readonly (string | number)[]): Random {
    return new Random(`${this.#name}/${labels.join('/')}`)
  }

  /** Uniform in [0, 1). */
  next(): number {
    const t = (((this.#a + this.#b) | 0) + this.#d) | 0
    this.#d = (this.#d + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + t
    return (t >>> 0) / 0x1_0000_0000
  }

  /** A whole number from `least` to `most`, both included. */
  int(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(from: readonly T[]): T {
    const one = from[Math.floor(this.next() * from.length)]
    if (one === undefined) throw new RangeError('nothing to pick from')
    return one
  }

  /** One of the names, by weight. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const names = Object.keys(weights) as K[]
    let left = this.next() * names.reduce((sum, name) => sum + weights[name], 0)
    for (const name of names) {
      left -= weights[name]
      if (left < 0) return name
    }
    return names.at(-1) as K
  }

  bytes(size: number): Uint8Array {
    return Uint8Array.from({ length: size }, () => this.int(0, 255))
  }
}
