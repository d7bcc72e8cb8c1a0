// What an auditor can take away from a server (S39): the head of its evidence, and all of it.
import { ask, download, type Target } from './exchange.ts'

/** A signed checkpoint, with the key that it can be checked with. Kept, it shows later whether anything is missing. */
export interface AuditHead {
  readonly kind: 'checkpoint'
  readonly number: number
  /** Epoch milliseconds. */
  readonly at: number
  /** SHA-256 of `body`. */
  readonly hash: string
  readonly key_id: string
  readonly signature: string
  /** The signed text: JSON that says where every chain ended. */
  readonly body: string
  /** Ed25519, DER (SPKI) in base64. */
  readonly public_key: string
}

export interface AuditClient {
  /** The last signed checkpoint, made now where records came since. For the admin. */
  auditHead(): Promise<AuditHead>
  /** All evidence as JSON lines, as it comes, to be verified offline. For the admin. */
  auditExport(): AsyncIterable<Uint8Array>
}

export function auditClient(target: Target, timeoutMs: number): AuditClient {
  return {
    async auditHead() {
      const { body } = await ask(target, { method: 'GET', path: 'v1/audit/head', timeoutMs })
      return body as unknown as AuditHead
    },
    auditExport: () => download(target, { method: 'GET', path: 'v1/audit/export', timeoutMs }),
  }
}
