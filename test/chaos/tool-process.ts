// The tool of the chaos run, a process of its own that can be killed at any moment: everything it did is in its file.
// `node tool-process.ts LOG PORT SEED`. It ends when its standard input does, so that nothing of a run stays behind.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Random } from '../sim/random.ts'
import { type Answer, type Body, ChaosTool } from './chaos-tool.ts'
import { openEffectLog } from './effect-log.ts'

async function readJson(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  return text === '' ? {} : (JSON.parse(text) as Body)
}

function send(response: ServerResponse, answer: Answer | undefined): void {
  if (answer === undefined) {
    response.socket?.destroy()
    return
  }
  response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body))
}

const [path = '', port = '0', seed = '1'] = process.argv.slice(2)
const tool = new ChaosTool(openEffectLog(path), new Random(`tool-${seed}`))
let asked = 0

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, verb = '', name = '', about = ''] = (request.url ?? '/').split('/').map(decodeURIComponent)
  const attempt = Number(request.headers['writ-attempt'] ?? 1)
  const key = String(request.headers['idempotency-key'] ?? '')
  const body = await readJson(request)
  if (verb === 'act') {
    return send(response, await tool.act({ tool: name, key, attempt, intent: String(body.intent) }))
  }
  if (verb === 'status') return send(response, status(name, about, attempt))
  if (verb === 'commit') return send(response, await tool.commit(about, attempt))
  if (verb === 'rollback') return send(response, tool.rollback(about))
  if (verb === 'envelope') return send(response, await envelope(name, body, attempt))
  if (verb === 'calm') tool.calm = true
  send(response, { status: 200, body: { calm: tool.calm } })
}

function status(name: string, key: string, attempt: number): Answer | undefined {
  const fault = tool.statusFault(key, asked++)
  if (fault === 'cut-before') return undefined
  if (fault === 'error-before') return { status: 500, body: {} }
  return { status: 200, body: fault === 'refuse' ? { state: 'confused' } : tool.status(name, key, attempt) }
}

/** The same tool, for whoever speaks the contract. */
async function envelope(name: string, body: Body, attempt: number): Promise<Answer | undefined> {
  const input = (body.input ?? {}) as Body
  const { operation } = body.tool as { operation?: string }
  const wrap = (answer: Answer | undefined): Answer | undefined =>
    answer === undefined || answer.status !== 200
      ? answer
      : {
          status: 200,
          body: {
            tool_contract_version: 'v1',
            request_id: body.request_id,
            status: 'ok',
            output: answer.body,
          },
        }
  if (operation === 'status') return wrap(status(name, String(input.idempotency_key), attempt))
  const key = String(body.idempotency_key)
  return wrap(await tool.act({ tool: name, key, attempt, intent: String(input.intent) }))
}

const server = createServer((request, response) => {
  serve(request, response).catch(() => response.socket?.destroy())
})
server.listen(Number(port), '127.0.0.1', () => console.log('ready'))
process.stdin.resume().on('end', () => process.exit(0))
