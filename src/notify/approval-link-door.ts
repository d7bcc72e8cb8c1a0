// What a link lets its bearer do: look at one approval, and decide it once, in the name that the link was made for.
import type { Approval } from '../contract/approval.ts'
import { type Caller, createCaller } from '../contract/caller.ts'
import type { Failure } from '../contract/failure.ts'
import type { World } from '../util/world.ts'
import type { ApprovalLink, ApprovalLinks } from './approval-link.ts'
import type { Approver, Channel } from './channel.ts'

export interface LinkChoice {
  /** Made from the link; nothing of a request is in it. */
  readonly approver: Caller
  readonly decision: 'approved' | 'denied'
  readonly comment?: string
  /** Goes into `usedLinks` in the very write that decides; one that is in there refuses. */
  readonly linkId: string
}

export type LinkDecision =
  | { readonly kind: 'decided'; readonly approval: Approval }
  | { readonly kind: 'refused'; readonly failure: Failure }
  | { readonly kind: 'not-found' }

/** Who keeps approvals and decides whether a decision counts. */
export interface ApprovalDecider {
  find(namespace: string, approvalId: string): Promise<Approval | undefined>
  decide(namespace: string, approvalId: string, choice: LinkChoice): Promise<LinkDecision>
}

export type LinkView =
  | { readonly kind: 'open'; readonly link: ApprovalLink; readonly approval: Approval }
  /** No link of this server, or about nothing that is there. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'expired' }
  /** Its approver was taken out of the targets since. */
  | { readonly kind: 'withdrawn' }
  | { readonly kind: 'used'; readonly approval: Approval }
  /** Somebody else has decided, or nobody in time. */
  | { readonly kind: 'ended'; readonly approval: Approval }

export type LinkEnd =
  | { readonly kind: 'decided'; readonly approval: Approval; readonly decision: LinkChoice['decision'] }
  | { readonly kind: 'refused'; readonly failure: Failure }
  | Exclude<LinkView, { readonly kind: 'open' }>

export interface ApprovalLinkDoor {
  look(token: string): Promise<LinkView>
  decide(token: string, decision: LinkChoice['decision'], comment: string): Promise<LinkEnd>
}

export interface ApprovalLinkDoorOptions {
  readonly world: Pick<World, 'clock'>
  readonly links: ApprovalLinks
  readonly channels: readonly Channel[]
  readonly approvals: ApprovalDecider
}

export function createApprovalLinkDoor(options: ApprovalLinkDoorOptions): ApprovalLinkDoor {
  const { world, links, channels, approvals } = options

  function approverOf({ target, actor, namespace }: ApprovalLink): Approver | undefined {
    return channels
      .filter(
        (one) =>
          one.target === target && (one.namespaces.includes('*') || one.namespaces.includes(namespace)),
      )
      .flatMap((one) => one.approvers)
      .find((one) => one.actor === actor)
  }

  async function look(token: string): Promise<LinkView & { readonly approver?: Approver }> {
    const read = links.read(token, world.clock.now())
    if (read.kind === 'forged') return { kind: 'unknown' }
    const { link } = read
    const approval = await approvals.find(link.namespace, link.approvalId)
    // What became of it says more than that the time is over.
    if (approval?.usedLinks.includes(link.id)) return { kind: 'used', approval }
    if (approval !== undefined && approval.state !== 'pending') return { kind: 'ended', approval }
    if (read.kind === 'expired') return { kind: 'expired' }
    if (approval === undefined) return { kind: 'unknown' }
    if (approval.expiresAt <= world.clock.now()) return { kind: 'expired' }
    const approver = approverOf(link)
    return approver === undefined ? { kind: 'withdrawn' } : { kind: 'open', link, approval, approver }
  }

  return {
    look,

    async decide(token, decision, comment) {
      const found = await look(token)
      if (found.kind !== 'open') return found
      const { link, approver } = found
      const { namespace, approvalId, actor } = link
      const end = await approvals.decide(namespace, approvalId, {
        approver: createCaller({
          actor,
          namespace,
          kind: 'person',
          // Never more than when the link was made, and nothing that was taken away since.
          roles: link.roles.filter((role) => approver?.roles.includes(role)),
          scopes: ['approval:read', 'approval:decide'],
        }),
        decision,
        linkId: link.id,
        ...(comment === '' ? {} : { comment }),
      })
      if (end.kind === 'decided') return { ...end, decision }
      if (end.kind === 'not-found') return { kind: 'unknown' }
      // Another click, or another person, was faster: what is there by now says it best.
      const now = await look(token)
      return now.kind === 'open' ? end : now
    },
  }
}
