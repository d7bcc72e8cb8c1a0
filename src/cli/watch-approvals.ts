// Approvals as they come: a list that is drawn anew for a person, lines for everything else.
import type { ApprovalPage, ApprovalResource } from '../client/approvals.ts'
import { ClientError } from '../client/client-error.ts'
import { approvalColumns } from './approval-text.ts'
import { clean, renderTable, styleOf } from './print.ts'
import type { Terminal } from './terminal.ts'

const LOOK_MS = 1000
/** A server that is being started again is away for a moment; one that is away for longer is an error. */
const MOST_FAILURES = 10
const CLEAR = '\u001b[2J\u001b[H'

/** Ends on SIGINT and SIGTERM. */
export async function watchApprovals(
  terminal: Terminal,
  asJson: boolean,
  list: () => Promise<ApprovalPage>,
): Promise<void> {
  const stop = stopOf(terminal)
  const seen = new Map<string, string>()
  let failures = 0
  try {
    while (!stop.asked()) {
      try {
        show(terminal, asJson, (await list()).approvals, seen)
        failures = 0
      } catch (error) {
        // Nobody is told twice, and what the server refuses will not get better.
        if (!(error instanceof ClientError) || error.kind === 'refused' || ++failures > MOST_FAILURES)
          throw error
        if (failures === 1) terminal.err(`${clean(error.message)}; trying again\n`)
      }
      await stop.within(LOOK_MS)
    }
  } finally {
    stop.forget()
  }
}

function show(
  terminal: Terminal,
  asJson: boolean,
  approvals: readonly ApprovalResource[],
  seen: Map<string, string>,
): void {
  const now = terminal.clock.now()
  if (terminal.outIsTty && !asJson) {
    const table = renderTable(approvals, approvalColumns(now), styleOf(terminal), 'Nothing waits.')
    terminal.out(`${CLEAR}${table}\nCtrl-C ends this.\n`)
    return
  }
  // The oldest first: that is the order in which they came.
  for (const approval of approvals.toReversed()) {
    const stands = `${approval.state}/${approval.decisions.length}`
    if (seen.get(approval.id) === stands) continue
    seen.set(approval.id, stands)
    terminal.out(asJson ? `${JSON.stringify(approval)}\n` : lineOf(approval))
  }
}

function lineOf({ id, state, tool, requester, reasons, expires_at }: ApprovalResource): string {
  const what = `${tool.name} ${tool.operation}`
  const text = `${id}  ${state}  ${what}  ${requester.actor}  until ${expires_at}  ${reasons.join('; ')}`
  return `${clean(text).replaceAll('\n', ' ')}\n`
}

interface Stop {
  asked(): boolean
  /** Resolves after so long, or as soon as the process is told to stop. */
  within(ms: number): Promise<void>
  forget(): void
}

function stopOf(terminal: Terminal): Stop {
  let asked = false
  let wake: (() => void) | undefined
  const forget = terminal.onStop(() => {
    asked = true
    wake?.()
  })
  return {
    asked: () => asked,
    within: (ms) =>
      new Promise<void>((resolve) => {
        if (asked) return resolve()
        const timer = setTimeout(resolve, ms)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      }),
    forget,
  }
}
