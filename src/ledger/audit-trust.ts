// Which keys count while an export is verified (S39): the ones given; or what a kept head makes good; or, with neither,
// those that the export brings itself.
//
// A kept head fixes everything before it by its hash, and so the keys that complete checkpoints up to it list. After it a
// signature is all there is: only the key of the head counts, and keys that a checkpoint lists which such a key signed.
import type { FaultList } from './audit-fault.ts'
import { type AuditPublicKey, readPublicKey } from './audit-key.ts'
import type { CheckpointLine, CheckpointText } from './checkpoint.ts'

interface TrustOptions {
  /** The only keys to trust. */
  readonly keys?: readonly AuditPublicKey[] | undefined
  readonly head?: { readonly hash: string; readonly public_key?: string } | undefined
}

interface Place {
  readonly line: number
  readonly checkpoint: number
}

export class AuditTrust {
  readonly #faults: FaultList
  readonly #given: boolean
  readonly #head: TrustOptions['head']
  /** Whose signatures count now. */
  #trusted = new Map<string, AuditPublicKey>()
  /** What the kept head vouches for, once it is there. */
  readonly #vouched = new Map<string, AuditPublicKey>()
  /** Who signed first where, up to the kept head. */
  readonly #signers = new Map<string, Place>()
  #atHead = false

  constructor({ keys, head }: TrustOptions, faults: FaultList) {
    this.#faults = faults
    this.#given = keys !== undefined
    this.#head = this.#given ? undefined : head
    for (const key of keys ?? []) this.#trusted.set(key.keyId, key)
    if (this.#head?.public_key !== undefined) add(this.#vouched, [this.#head.public_key])
    for (const [id, key] of this.#vouched) this.#trusted.set(id, key)
  }

  get(keyId: string): AuditPublicKey | undefined {
    return this.#trusted.get(keyId)
  }

  /** The keys that the export brings. With a kept head they only count up to it, where its hash holds them to it. */
  bring(keys: Readonly<Record<string, string>>): void {
    if (!this.#given) add(this.#trusted, Object.values(keys))
  }

  /** A checkpoint that is whole, and signed by a key that counts. */
  signed(line: CheckpointLine, { keys = {} }: CheckpointText, where: Place): void {
    if (this.#head === undefined) return
    add(this.#vouched, Object.values(keys))
    if (this.#atHead) return
    if (!this.#signers.has(line.key_id)) this.#signers.set(line.key_id, where)
    if (line.hash !== this.#head.hash) return
    this.#atHead = true
    this.#trusted = this.#vouched
    for (const [id, first] of this.#signers) {
      if (!this.#vouched.has(id))
        this.#faults.add('key-unknown', first, `it is signed by key ${id}, and the kept head knows none such`)
    }
  }
}

function add(keys: Map<string, AuditPublicKey>, texts: readonly string[]): void {
  for (const text of texts) {
    const key = readPublicKey(text)
    if (key !== undefined) keys.set(key.keyId, key)
  }
}
