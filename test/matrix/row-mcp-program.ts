// An MCP server of the matrix on standard streams: OFFERED (the names of its tools, as JSON), SILENT (it never says a word),
// ECHOES (a folder where it notes what it was shown, which it then says back in every form) and NAME.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Message } from '../fixtures/mcp-peer/answer.ts'
import { echoOf } from '../threats/secret-forms.ts'
import { mcpAnswer } from './row-mcp-answer.ts'
import { inPieces } from './row-voice.ts'

const { OFFERED = '[]', SILENT, ECHOES, NAME } = process.env
const offered = JSON.parse(OFFERED) as string[]
const shown = Object.entries(process.env).flatMap(([name, value = '']) =>
  name.startsWith('CANARY') ? [value] : [],
)
const said = ECHOES === undefined ? ['it says'] : echoOf(shown)

function write(message: object): void {
  const line = `${JSON.stringify(message)}\n`
  if (ECHOES === undefined) process.stdout.write(line)
  else for (const piece of inPieces(line)) process.stdout.write(piece)
}

function pour(text: string): void {
  const more = () => {
    while (process.stdout.write(text)) {
      // Until the pipe is full.
    }
    process.stdout.once('drain', more)
  }
  more()
}

if (ECHOES !== undefined) process.stderr.write(`${said.join('\n')}\n`)
createInterface({ input: process.stdin }).on('line', (line) => {
  if (SILENT !== undefined) return
  const message = JSON.parse(line) as Message
  if (ECHOES !== undefined && message.method === 'tools/call') {
    writeFileSync(join(ECHOES, `${NAME}--${message.params?.name}`), shown.join('\n'))
    // Between two messages, and of neither.
    process.stdout.write(`${said.join(' ')}\n`)
    process.stderr.write(`${said.join(' ')}\n`)
  }
  const answer = mcpAnswer(message, offered, said)
  if (answer.kind === 'messages') for (const one of answer.messages) write(one)
  else if (answer.kind === 'cut') process.stdout.write(answer.head, () => process.exit(1))
  else if (answer.kind === 'pour') pour(answer.head.padEnd(65_536, said.join(' ')))
})
process.stdin.on('close', () => process.exit(0))
