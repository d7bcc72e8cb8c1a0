// The table of commands, in the order in which help lists them. Each is loaded when it is used. A name has one word or
// two; the first of two may be a command of its own.
import type { Command } from '../command.ts'

export interface CommandEntry {
  readonly summary: string
  load(): Promise<{ readonly command: Command }>
}

export const COMMANDS: Readonly<Record<string, CommandEntry>> = Object.freeze({
  up: { summary: 'Start a server', load: () => import('./up.ts') },
  apply: { summary: 'Create or change resources from manifests', load: () => import('./apply.ts') },
  diff: { summary: 'Show what apply would change', load: () => import('./diff.ts') },
  validate: { summary: 'Check manifests without a server', load: () => import('./validate.ts') },
  schema: { summary: 'Print the JSON Schema of manifests, for editors', load: () => import('./schema.ts') },
  get: {
    summary: 'List tools, roles, permissions, policies, secrets or MCP servers',
    load: () => import('./get.ts'),
  },
  describe: {
    summary: 'Show everything about one tool, role, permission, policy, secret or MCP server',
    load: () => import('./describe.ts'),
  },
  delete: {
    summary: 'Delete a tool, role, permission, policy, secret or MCP server',
    load: () => import('./delete.ts'),
  },
  call: { summary: 'Call a tool', load: () => import('./call.ts') },
  calls: { summary: 'List calls, or show one', load: () => import('./calls.ts') },
  'calls unknown': {
    summary: 'List effects that nobody knows the end of',
    load: () => import('./calls-unknown.ts'),
  },
  'calls settle': {
    summary: 'Say whether an unknown effect happened, or that one was undone by hand',
    load: () => import('./calls-settle.ts'),
  },
  'calls commit': { summary: 'Make a prepared effect happen', load: () => import('./calls-commit.ts') },
  'calls rollback': { summary: 'Give a prepared effect up', load: () => import('./calls-rollback.ts') },
  'calls compensate': {
    summary: 'Undo an effect that happened',
    load: () => import('./calls-compensate.ts'),
  },
  cancel: { summary: 'Cancel a call', load: () => import('./cancel.ts') },
  'saga open': { summary: 'Open a saga', load: () => import('./saga-open.ts') },
  'saga list': { summary: 'List sagas', load: () => import('./saga-list.ts') },
  'saga show': { summary: 'Show a saga and its members', load: () => import('./saga-show.ts') },
  'saga complete': { summary: 'Complete a saga', load: () => import('./saga-complete.ts') },
  'saga abort': {
    summary: 'Abort a saga: undo what its members did',
    load: () => import('./saga-abort.ts'),
  },
  approvals: { summary: 'List approvals', load: () => import('./approvals.ts') },
  'approvals show': { summary: 'Show what an approval is about', load: () => import('./approvals-show.ts') },
  'approvals delegate': {
    summary: 'Let somebody else decide an approval in your place',
    load: () => import('./approvals-delegate.ts'),
  },
  'approvals override': {
    summary: 'Let a denial no longer count',
    load: () => import('./approvals-override.ts'),
  },
  approve: { summary: 'Agree to a call that waits for approval', load: () => import('./approve.ts') },
  deny: { summary: 'Refuse a call that waits for approval', load: () => import('./deny.ts') },
  'grant create': {
    summary: 'Agree to a class of calls beforehand',
    load: () => import('./grant-create.ts'),
  },
  'grant list': { summary: 'List grants', load: () => import('./grant-list.ts') },
  'grant end': { summary: 'Take a grant back', load: () => import('./grant-end.ts') },
  freeze: {
    summary: 'Stop a tool, a caller, a namespace or everything',
    load: () => import('./freeze.ts'),
  },
  'freeze list': { summary: 'List what is frozen', load: () => import('./freeze-list.ts') },
  thaw: { summary: 'Lift a freeze', load: () => import('./thaw.ts') },
  'policy test': {
    summary: 'Run cases against manifests, without a server',
    load: () => import('./policy-test.ts'),
  },
  'tool verify': {
    summary: 'Try whether a tool keeps what it declares about repeats',
    load: () => import('./tool-verify.ts'),
  },
  'tool diff': {
    summary: 'Show what an MCP server has changed of a tool',
    load: () => import('./tool-diff.ts'),
  },
  'tool accept': {
    summary: 'Take on what an MCP server has changed of a tool',
    load: () => import('./tool-accept.ts'),
  },
  'secret set': { summary: 'Keep a value of a secret', load: () => import('./secret-set.ts') },
  'secret list': { summary: 'List secrets, without their values', load: () => import('./secret-list.ts') },
  'secret delete': { summary: 'Delete a secret', load: () => import('./secret-delete.ts') },
  'secret rotate-key': {
    summary: 'Wrap the keys of all secrets with a new master key',
    load: () => import('./secret-rotate-key.ts'),
  },
  'token create': { summary: 'Issue a token', load: () => import('./token-create.ts') },
  'token inspect': {
    summary: 'Show what a token says, and whether it is valid here',
    load: () => import('./token-inspect.ts'),
  },
  'token revoke': {
    summary: 'Revoke a token, or all tokens of an actor',
    load: () => import('./token-revoke.ts'),
  },
  'token rotate': { summary: 'Sign tokens with a new key', load: () => import('./token-rotate.ts') },
  'audit head': { summary: 'Show the signed head of the evidence', load: () => import('./audit-head.ts') },
  'audit export': { summary: 'Write all evidence as JSON lines', load: () => import('./audit-export.ts') },
  'audit verify': {
    summary: 'Verify evidence, offline or from a server',
    load: () => import('./audit-verify.ts'),
  },
  explain: { summary: 'Say what every stage would answer to a call', load: () => import('./explain.ts') },
  conformance: { summary: 'Run the conformance suite', load: () => import('./conformance.ts') },
  doctor: { summary: 'Look for what is wrong with this installation', load: () => import('./doctor.ts') },
  version: { summary: 'Show the version', load: () => import('./version.ts') },
  completion: { summary: 'Print a completion script for a shell', load: () => import('./completion.ts') },
})

/** Every command with all it declares, for completion and the reference page. */
export async function loadCommands(): Promise<readonly Command[]> {
  return Promise.all(Object.values(COMMANDS).map(async (entry) => (await entry.load()).command))
}
