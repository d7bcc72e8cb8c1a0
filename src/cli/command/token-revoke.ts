// writ token revoke: takes back one token, or all of an actor.
import { EXIT, usageError } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { clean, printResult } from '../print.ts'

export const command = defineCommand({
  name: 'token revoke',
  summary: 'Revoke a token, or all tokens of an actor',
  details: [
    'From then on it is refused by every replica within a second, and no write is begun for it. With --actor every token is meant that was issued until now, by Writ or by an OIDC issuer; one that is issued afterwards is good. It is kept in evidence, with the reason. Needs token:write.',
  ],
  args: [{ name: 'id', description: 'The id of the token: token inspect shows it.', optional: true }],
  flags: {
    actor: { type: 'string', description: 'All tokens of this actor.', placeholder: 'NAME' },
    reason: { type: 'string', description: 'Why; it is kept in evidence.', placeholder: 'TEXT' },
    ...OUTPUT_FLAG,
    ...SERVER_FLAGS,
  },
  examples: [
    {
      line: `writ token revoke --actor agent-7 --reason 'its laptop was stolen'`,
      does: 'Every token of one agent',
    },
  ],
  async run({ flags, args, terminal }) {
    const { actor, reason } = flags
    const { id } = args
    if ((id === undefined) === (actor === undefined)) {
      throw usageError('one token or one actor has to be named', 'give the id of a token, or --actor NAME')
    }
    if (reason === undefined) throw usageError('--reason is missing', 'say why, with --reason TEXT')
    const done = await withClient(terminal, flags, (client) =>
      id === undefined ? client.revokeTokensOf(actor ?? '', reason) : client.revokeToken(id, reason),
    )
    const what = id === undefined ? `every token of ${actor} until now` : `token ${id}`
    await printResult(terminal, flags.output, done, () => `${clean(what)} is revoked\n`)
    return EXIT.ok
  },
})
