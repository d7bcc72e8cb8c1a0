// Where news of approvals go, once the file of targets is read and every secret of it is in hand.
import type { ApprovalEvent } from '../contract/approval-event.ts'

/** Somebody in whose name a link decides. */
export interface Approver {
  readonly actor: string
  /** Roles of the namespace that it decides with. */
  readonly roles: readonly string[]
}

interface ChannelBase {
  /** Unique. A mail target has one channel for each of its approvers, so that each is tried again by itself. */
  readonly name: string
  /** The target of the file that it belongs to. */
  readonly target: string
  /** `*` is all of them. */
  readonly namespaces: readonly string[]
  readonly events: readonly ApprovalEvent[]
  /** They get a link each. */
  readonly approvers: readonly Approver[]
}

export interface WebhookChannel extends ChannelBase {
  readonly type: 'webhook'
  readonly url: string
  /** Signs each body. */
  readonly secret: string
}

export interface ChatChannel extends ChannelBase {
  readonly type: 'slack' | 'teams'
  /** Whoever has it can post there: it is never shown. */
  readonly url: string
}

export interface Smtp {
  readonly host: string
  readonly port: number
  /** `tls` from the first byte, `starttls` or nothing is sent, `none` only to the machine itself. */
  readonly secure: 'tls' | 'starttls' | 'none'
  readonly login?: { readonly user: string; readonly password: string }
  /** Certificates to trust instead of those of the system, in PEM form. */
  readonly ca?: string
}

export interface MailChannel extends ChannelBase {
  readonly type: 'email'
  readonly smtp: Smtp
  readonly from: string
  readonly to: readonly string[]
}

export type Channel = WebhookChannel | ChatChannel | MailChannel

export function concerns(channel: Channel, namespace: string, event: ApprovalEvent): boolean {
  const { namespaces, events } = channel
  return events.includes(event) && (namespaces.includes('*') || namespaces.includes(namespace))
}
