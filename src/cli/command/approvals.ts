// writ approvals: what waits for somebody to decide.
import type { ApprovalPage } from '../../client/approvals.ts'
import type { Client } from '../../client/client.ts'
import { APPROVAL_STATES, type ApprovalState } from '../../contract/approval.ts'
import { approvalColumns } from '../approval-text.ts'
import { EXIT, usageError } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { PAGE_FLAGS, printPage, readPage } from '../paging.ts'
import { withProgress } from '../progress.ts'
import { watchApprovals } from '../watch-approvals.ts'

export const command = defineCommand({
  name: 'approvals',
  summary: 'List approvals',
  details: [
    'Newest first; without --state, those that wait for somebody. You see what you may decide, and what you asked for yourself.',
    'With --watch it goes on until Ctrl-C: a terminal shows the list as it is, anything else gets one line for each approval that appears or changes.',
  ],
  args: [],
  flags: {
    state: {
      type: 'string',
      values: [...APPROVAL_STATES, 'all'],
      default: 'pending',
      description: 'Only approvals in this state.',
      placeholder: 'STATE',
    },
    tool: { type: 'string', description: 'Only approvals for this tool.', placeholder: 'NAME' },
    requester: { type: 'string', description: 'Only what this actor asked for.', placeholder: 'ACTOR' },
    ...PAGE_FLAGS,
    watch: { type: 'boolean', description: 'Keep looking, until Ctrl-C.' },
    ...OUTPUT_FLAG,
    ...SERVER_FLAGS,
  },
  examples: [
    { line: 'writ approvals', does: 'What waits for you' },
    { line: 'writ approvals --watch --tool pay', does: 'Keep an eye on one tool' },
    { line: 'writ approvals --state denied -o json', does: 'What was refused, for a program' },
  ],
  async run({ flags, terminal }) {
    const { cursor, state, tool, requester, watch } = flags
    const wanted = readPage(flags)
    if (watch && cursor !== undefined)
      throw usageError('--watch and --cursor exclude each other', 'give one of them')
    if (watch && flags.output === 'yaml')
      throw usageError('--watch prints no YAML', 'leave -o out, or use -o json for a line of JSON each')
    const list = (client: Client): Promise<ApprovalPage> =>
      client.listApprovals({
        ...wanted,
        ...(state === 'all' ? {} : { state: state as ApprovalState }),
        ...(tool === undefined ? {} : { tool }),
        ...(requester === undefined ? {} : { requester }),
      })
    if (watch) {
      await withClient(terminal, flags, (client) =>
        watchApprovals(terminal, flags.output === 'json', () => list(client)),
      )
      return EXIT.ok
    }
    const page = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'asking for the approvals', () => list(client)),
    )
    await printPage(terminal, flags.output, page, {
      rows: page.approvals,
      columns: approvalColumns,
      none: 'No approvals.',
    })
    return EXIT.ok
  },
})
