// What the commands share that do something about a call: asking for it, and showing how the call stands.

import { readResource } from '../client/call-reply.ts'
import type { Client } from '../client/client.ts'
import { ClientError } from '../client/client-error.ts'
import type { ActionReply } from '../client/effects.ts'
import type { OutputFormat } from './command.ts'
import { withClient } from './connect.ts'
import { renderOutput } from './output-text.ts'
import { clean, printResult } from './print.ts'
import { withProgress } from './progress.ts'
import type { Terminal } from './terminal.ts'

interface Act {
  readonly id: string
  /** What a person who waits is told. */
  readonly doing: string
  readonly format: OutputFormat
  readonly server: { readonly data: string | undefined; readonly namespace: string | undefined }
  readonly ask: (client: Client) => Promise<ActionReply>
  /** What is said of a call that has been acted on, after its id. */
  readonly sentence: (reply: ActionReply) => string
  /** The call may have brought its output: that is what goes to stdout, as with `writ call`. */
  readonly printsOutput?: true
  /** What to do about a refusal, as a command line, where that says more than the server's own words. */
  readonly fix?: (refused: ClientError) => string | undefined
}

export async function actOnCall(terminal: Terminal, act: Act): Promise<ActionReply> {
  const reply = await withClient(terminal, act.server, (client) =>
    withProgress(terminal, act.doing, () => act.ask(client)),
  ).catch((error: unknown) => {
    if (!(error instanceof ClientError)) throw error
    if (error.kind === 'interrupted')
      throw error.withFix(`it may have been done; see how the call stands: writ calls ${act.id}`)
    const fix = act.fix?.(error)
    throw fix === undefined ? error : error.withFix(fix)
  })
  const { call } = reply
  const { failure, output, warnings } = readResource(call)
  const sentence = `${clean(`${call.id} ${act.sentence(reply)}`)}\n`
  if (act.printsOutput === true && act.format === 'table') {
    terminal.out(reply.goesOn ? '' : renderOutput(output, terminal.outIsTty))
    terminal.err(sentence)
    for (const warning of warnings) terminal.err(`Warning: ${clean(warning)}\n`)
  } else await printResult(terminal, act.format, call, () => sentence)
  if (act.format === 'table' && failure !== undefined) {
    terminal.err(`${clean(`${failure.id}: ${failure.message}`)}\n`)
  }
  return reply
}

/** For an effect that could not be undone: by a call, or by hand. */
export function undoText(id: string): string {
  return `try again: writ calls compensate ${id}; or undo it by hand, then: writ calls settle ${id} --as undone --reason TEXT`
}
