// Why something could not be sent out. Its words never hold the path, the query or the credentials of an address.

export const EGRESS_REASONS = ['refused', 'timeout', 'unreachable', 'too-large', 'malformed'] as const
export type EgressReason = (typeof EGRESS_REASONS)[number]

export class EgressFailed extends Error {
  override readonly name = 'EgressFailed'
  /** `refused`: nothing was sent, and nothing will be until the address changes. */
  readonly reason: EgressReason
  readonly why: string

  /** `where` is an origin, or a word for an address that has none. */
  constructor(reason: EgressReason, where: string, why: string) {
    super(`${where}: ${why}`)
    this.reason = reason
    this.why = why
  }
}
