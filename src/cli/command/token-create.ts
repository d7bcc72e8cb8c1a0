// writ token create: issues a token and prints it, and nothing else.
import { ACTOR_KINDS } from '../../contract/caller.ts'
import { formatDuration } from '../../util/duration.ts'
import { EXIT, usageError } from '../cli-error.ts'
import { defineCommand, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { clean } from '../print.ts'

export const command = defineCommand({
  name: 'token create',
  summary: 'Issue a token',
  details: [
    'Prints the token alone, so that it can be kept with $(…) or a pipe; its id and its end go to standard error. The token is in the namespace of whoever issues it, or with --namespace, as the admin, in any. It holds the permissions of its roles, as these are whenever it is used, and never more than its issuer. Needs token:write.',
    'With --scope it is narrowed: a permission then counts only where a scope covers it, too. A token for a service may speak for the agents that --agent names; an agent speaks for itself.',
  ],
  args: [],
  flags: {
    actor: { type: 'string', description: 'Whom the token stands for.', placeholder: 'NAME' },
    kind: {
      type: 'string',
      values: ACTOR_KINDS,
      default: 'agent',
      description: 'What that is. Agents decide no approvals; only the admin issues tokens for people.',
      placeholder: 'KIND',
    },
    role: { type: 'string', multiple: true, description: 'A role that it has.', placeholder: 'NAME' },
    scope: {
      type: 'string',
      multiple: true,
      description: 'A permission that it is narrowed to, such as tool:weather:invoke.',
      placeholder: 'PERMISSION',
    },
    agent: {
      type: 'string',
      multiple: true,
      description: 'An agent that it may speak for; * at the end stands for any rest.',
      placeholder: 'NAME',
    },
    system: { type: 'string', description: 'The system of agents that it belongs to.', placeholder: 'NAME' },
    ttl: {
      type: 'duration',
      description: 'How long it lives: 1m to 720h. Default: 1h.',
      placeholder: 'TIME',
    },
    audience: {
      type: 'string',
      description: 'For another server that shares the keys of this one.',
      placeholder: 'NAME',
    },
    ...SERVER_FLAGS,
  },
  examples: [
    {
      line: 'writ token create --actor agent-7 --role support --ttl 1h',
      does: 'A token for an agent, for an hour',
    },
    {
      line: `export WRIT_TOKEN=$(writ token create --actor planner --kind service --role planner --agent 'worker-*')`,
      does: 'A service that speaks for its workers',
    },
  ],
  async run({ flags, terminal }) {
    const { actor, kind, role: roles, scope: scopes, agent: agents, system, ttl, audience } = flags
    if (actor === undefined) throw usageError('--actor is missing', 'say whom the token stands for')
    const issued = await withClient(terminal, flags, (client) =>
      client.issueToken({
        actor,
        kind,
        roles,
        ...(scopes.length === 0 ? {} : { scopes }),
        ...(agents.length === 0 ? {} : { agents }),
        ...(system === undefined ? {} : { system }),
        ...(ttl === undefined ? {} : { ttl: formatDuration(ttl) }),
        ...(audience === undefined ? {} : { audience }),
      }),
    )
    terminal.out(`${issued.token}\n`)
    terminal.err(`writ: token ${issued.id} for ${issued.actor}, until ${issued.expires_at}\n`)
    for (const warning of issued.warnings ?? []) terminal.err(`writ: ${clean(warning)}\n`)
    return EXIT.ok
  },
})
