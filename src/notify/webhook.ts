// A webhook: the news as JSON, signed, so that its receiver knows who sent it and when.
import { createHmac } from 'node:crypto'
import type { ApprovalNews } from '../contract/approval-event.ts'
import { showApproval } from '../contract/shown-approval.ts'

export interface ApproverLink {
  readonly actor: string
  readonly url: string
}

export function webhookBody(
  { id, type, at, approval }: ApprovalNews,
  links: readonly ApproverLink[],
): string {
  return JSON.stringify({
    id,
    type,
    at: new Date(at).toISOString(),
    namespace: approval.namespace,
    approval: showApproval(approval),
    ...(links.length === 0 ? {} : { links }),
  })
}

/** `nowMs` is of this very send: a receiver refuses what is older than it likes. */
export function webhookHeaders(
  id: string,
  body: string,
  secret: string,
  nowMs: number,
): Readonly<Record<string, string>> {
  const time = Math.floor(nowMs / 1000)
  const mac = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')
  return { 'writ-event-id': id, 'writ-signature': `t=${time},v1=${mac}` }
}
