// Group C5: decisions, and how a denial looks.
import type { Case } from '../case.ts'
import { codesOf, requestFor, send } from '../envelope.ts'
import type { CallerChoice } from '../subject.ts'
import { GUARD_CAPABILITY, GUARD_CLASS, TOOLS } from '../tools.ts'
import { checkNotSent } from './not-sent.ts'

const DENIED = {
  status: 'denied',
  code: 'permission_denied',
  reason: 'tool_permission_denied',
  retryable: false,
}

const metadata: Case = {
  id: 'policy/metadata',
  title: 'capabilities, class and risk are those of the declaration, and decide',
  requirements: ['C5.1'],
  needs: ['echo'],
  async run(subject, check) {
    check.equal('C5.1', 'what is known of the tool', subject.declared('guarded'), {
      capabilities: [GUARD_CAPABILITY],
      riskLevel: 'high',
    })
    const allowed = await send(subject, requestFor(subject, 'guarded', { input: {} }))
    check.equal('C5.1', 'status for a caller with everything', allowed.status, 'ok')
    for (const missing of [`capability:${GUARD_CAPABILITY}`, `class:${GUARD_CLASS}`]) {
      const mark = subject.mint()
      const answer = await send(
        subject,
        // What the request claims must not help: the tool would then need nothing.
        requestFor(subject, 'guarded', { input: { mark }, tool: { capabilities: [], risk_level: 'low' } }),
        { without: [missing] },
      )
      check.equal('C5.1', `status without ${missing}`, answer.status, 'denied')
      check.equal('C5.1', 'what the answer says is missing', answer.details.missing, [missing])
      checkNotSent(subject, check, 'C5.1', `a call without ${missing}`, mark)
    }
  },
}

/** Ways to be denied for want of a permission. */
const WAYS: readonly (readonly [string, CallerChoice, { readonly namespace?: string }])[] = [
  ['a caller without any permission', { without: 'everything' }, {}],
  ['a caller without this tool', { without: [`tool:${TOOLS.guarded.name}:invoke`] }, {}],
  ['a caller without a capability', { without: [`capability:${GUARD_CAPABILITY}`] }, {}],
  ['a caller of another namespace', { without: [] }, { namespace: 'conformance-elsewhere' }],
]

const permission: Case = {
  id: 'policy/permission',
  title: 'a missing permission is one denial, however it is missing',
  requirements: ['C5.2', 'C5.3'],
  async run(subject, check) {
    for (const [who, caller, more] of WAYS) {
      const mark = subject.mint()
      const answer = await send(subject, requestFor(subject, 'guarded', { input: { mark }, ...more }), caller)
      check.equal('C5.2', `${who}: status`, answer.status, 'denied')
      check.equal('C5.3', who, codesOf(answer), DENIED)
      checkNotSent(subject, check, 'C5.3', who, mark)
    }
  },
}

const approval: Case = {
  id: 'policy/approval',
  title: 'a call that somebody has to approve is denied for now, with a reason of its own',
  requirements: ['C5.2'],
  async run(subject, check) {
    const mark = subject.mint()
    const answer = await send(subject, requestFor(subject, 'approved', { input: { amount: 101, mark } }))
    check.equal('C5.2', 'a call that waits for approval', codesOf(answer), {
      status: 'denied',
      code: 'approval_pending',
      reason: 'tool_approval_pending',
      retryable: false,
    })
    checkNotSent(subject, check, 'C5.2', 'a call that waits for approval', mark)
  },
}

export const policyCases: readonly Case[] = [metadata, permission, approval]
