// A transport with credentials: what it is given, and that nothing of a secret comes back on any way that a tool can talk.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CredentialNeed, Credentials, PresentResult } from '../../src/credential/credential.ts'
import { createRedactor, REDACTED } from '../../src/credential/redactor.ts'
import type { AttemptSink, Reply, Send, Transport } from '../../src/transport/transport.ts'
import { withCredentials } from '../../src/transport/with-credentials.ts'
import { Abort } from '../../src/util/abort.ts'
import type { Json } from '../../src/util/json.ts'
import { makeSend, makeTool } from './send-fixture.ts'

const SECRET = 'canary-secret-value'
const ECHO = `you sent ${SECRET}`
const CLEAN = `you sent ${REDACTED}`
const AUTH = { profile: 'bearer', secretRef: 'key', scopes: [] } as const
const tool = makeTool({ auth: AUTH })

function presenting(more: { version?: string; rejected?: () => boolean; result?: PresentResult } = {}) {
  const needs: CredentialNeed[] = []
  const credentials: Credentials = {
    async present(need) {
      needs.push(need)
      const presented = {
        headers: [['authorization', `Bearer ${SECRET}`]] as const,
        env: {},
        version: more.version ?? 'v1',
        redactor: createRedactor([SECRET]),
        rejected: more.rejected ?? (() => false),
      }
      return more.result ?? { ok: true, presented }
    },
    version: async () => 'v1',
    read: async () => undefined,
    close: async () => {},
  }
  return { credentials, needs }
}

type Run = (send: Send, sink: AttemptSink) => Promise<Reply>

const transportOf = (run: Run, more: Partial<Transport> = {}): Transport => ({
  type: 'http',
  attempt: run,
  close: async () => {},
  ...more,
})

interface Heard extends AttemptSink {
  readonly said: Json[]
  readonly lates: Reply[]
}

function listening(): Heard {
  const said: Json[] = []
  const lates: Reply[] = []
  return {
    said,
    lates,
    sending() {},
    accepted: (handle) => void said.push(handle),
    progress: (fact) => void said.push(fact),
    chunk: (part) => void said.push(part),
    late: (reply) => void lates.push(reply),
  }
}

test('a tool that declares no credential goes straight through', async () => {
  const { credentials, needs } = presenting()
  let seen: Send | undefined
  const transport = withCredentials(
    transportOf(async (send) => {
      seen = send
      return { kind: 'success', output: ECHO, bytes: 1 }
    }),
    credentials,
  )
  const send = makeSend(makeTool(), null)
  const reply = await transport.attempt(send, listening())
  assert.equal(seen, send, 'the very same object')
  assert.deepEqual(reply, { kind: 'success', output: ECHO, bytes: 1 })
  assert.deepEqual(needs, [])
})

test('a send has what is presented with it, and every field of a success is clean', async () => {
  const { credentials, needs } = presenting()
  let shown: Send['credentials']
  const transport = withCredentials(
    transportOf(async (send) => {
      shown = send.credentials
      return {
        kind: 'success',
        output: { [ECHO]: [ECHO] },
        bytes: 7,
        warnings: [ECHO],
        sideEffects: [{ did: ECHO }],
        commitToken: 'a-token',
      }
    }),
    credentials,
  )
  const reply = await transport.attempt(makeSend(tool, null), listening())
  assert.deepEqual(shown?.headers, [['authorization', `Bearer ${SECRET}`]])
  assert.deepEqual(needs, [{ namespace: 'default', auth: AUTH, reach: tool.reach }])
  assert.deepEqual(reply, {
    kind: 'success',
    output: { [CLEAN]: [CLEAN] },
    bytes: 7,
    warnings: [CLEAN],
    sideEffects: [{ did: CLEAN }],
    commitToken: 'a-token',
  })
})

test('every field of a failure is clean, also where it comes late', async () => {
  const failed: Reply = {
    kind: 'failure',
    failure: 'upstream-error',
    message: ECHO,
    details: { at: { deep: ECHO } },
    warnings: [ECHO],
    sideEffects: [{ did: ECHO }],
    definite: false,
  }
  const heard = listening()
  const transport = withCredentials(
    transportOf(async (_send, sink) => {
      sink.late(failed)
      return failed
    }),
    presenting().credentials,
  )
  const reply = await transport.attempt(makeSend(tool, null), heard)
  assert.deepEqual(reply, {
    ...failed,
    message: CLEAN,
    details: { at: { deep: CLEAN } },
    warnings: [CLEAN],
    sideEffects: [{ did: CLEAN }],
  })
  assert.deepEqual(heard.lates, [reply])
})

test('a commit token with the secret in it is refused, not changed', async () => {
  const transport = withCredentials(
    transportOf(async () => ({ kind: 'success', output: null, bytes: 0, commitToken: `t-${SECRET}` })),
    presenting().credentials,
  )
  const reply = await transport.attempt(makeSend(tool, null), listening())
  assert.ok(reply.kind === 'failure' && reply.failure === 'reply-malformed' && !reply.definite)
  assert.ok(!JSON.stringify(reply).includes(SECRET))
})

test('facts on the way are clean, and a secret that is split between chunks is found', async () => {
  const heard = listening()
  const transport = withCredentials(
    transportOf(async (_send, sink) => {
      sink.sending()
      sink.accepted({ handle: ECHO })
      sink.progress({ note: ECHO })
      sink.chunk('you sent canary-')
      sink.chunk('secret-value, and can')
      sink.chunk({ part: ECHO })
      sink.chunk('the end: canary-secr')
      return { kind: 'success', output: null, bytes: 0 }
    }),
    presenting().credentials,
  )
  await transport.attempt(makeSend(tool, null), heard)
  assert.deepEqual(heard.said.slice(0, 2), [{ handle: CLEAN }, { note: CLEAN }])
  assert.deepEqual(heard.said.slice(2), [
    'you sent ',
    `${REDACTED}, and `,
    'can',
    { part: CLEAN },
    'the end: ',
    'canary-secr',
  ])
})

test('an error that holds the secret is another one without it; any other stays the same', async () => {
  const failing = (error: unknown) =>
    withCredentials(
      transportOf(async () => Promise.reject(error)),
      presenting().credentials,
    ).attempt(makeSend(tool, null), listening())
  const own = new TypeError('a bug')
  await assert.rejects(failing(own), (error) => error === own)
  await assert.rejects(failing(new TypeError(ECHO)), (error) => {
    assert.ok(error instanceof Error)
    assert.equal(error.message, CLEAN)
    assert.equal(error.name, 'TypeError')
    return !String(error.stack).includes(SECRET)
  })
})

test('nothing is sent where nothing can be presented', async () => {
  const never = transportOf(async () => assert.fail('sent'))
  const refusal = { failure: 'secret-missing', message: 'gone', transient: true } as const
  const away = withCredentials(never, presenting({ result: { ok: false, refusal } }).credentials)
  assert.deepEqual(await away.attempt(makeSend(tool, null), listening()), {
    kind: 'failure',
    failure: 'secret-missing',
    message: 'gone',
    definite: true,
    transient: true,
  })
  const abort = new Abort()
  abort.abort('timeout')
  const late = await withCredentials(never, presenting().credentials).attempt(
    makeSend(tool, null, { abort }),
    listening(),
  )
  assert.ok(late.kind === 'failure' && late.failure === 'timeout-before-send' && late.definite)
})

test('S22: a send that is held to a version of the secret leaves with no other', async () => {
  let sends = 0
  const counting = transportOf(async () => {
    sends++
    return { kind: 'success', output: null, bytes: 0 }
  })
  const transport = withCredentials(counting, presenting({ version: 'v2' }).credentials)
  const other = await transport.attempt(makeSend(tool, null, { credentialVersion: 'v1' }), listening())
  assert.ok(other.kind === 'failure' && other.definite)
  const same = await transport.attempt(makeSend(tool, null, { credentialVersion: 'v2' }), listening())
  assert.deepEqual([same.kind, sends], ['success', 1])
})

test('a refused token is token-expired once, and then the client is refused', async () => {
  let evicted = 0
  const refusing = transportOf(async () => ({
    kind: 'failure',
    failure: 'upstream-unauthorized',
    definite: true,
  }))
  const rejected = () => {
    evicted++
    return true
  }
  const transport = withCredentials(refusing, presenting({ rejected }).credentials)
  const failure = async (more: Partial<Send>) => {
    const reply = await transport.attempt(makeSend(tool, null, more), listening())
    return reply.kind === 'failure' ? reply.failure : reply.kind
  }
  assert.equal(await failure({}), 'token-expired')
  assert.equal(await failure({ renewed: true }), 'upstream-unauthorized')
  assert.equal(evicted, 2, 'neither is kept')
})

test('work that was taken on is presented for anew, asked for again, and reported without the secret', async () => {
  const { credentials, needs } = presenting({ rejected: () => true })
  let polled: Reply = { kind: 'success', output: ECHO, bytes: 1 }
  const transport = withCredentials(
    transportOf(async () => assert.fail('sent'), {
      attach: async (_handle, send) => (send.credentials === undefined ? assert.fail('not shown') : polled),
      receive: async (body) => ({ kind: 'success', output: Buffer.from(body).toString(), bytes: 1 }),
    }),
    credentials,
  )
  const send = makeSend(tool, null)
  assert.deepEqual(await transport.attach?.({}, send, listening()), { ...polled, output: CLEAN })
  polled = { kind: 'failure', failure: 'upstream-unauthorized', definite: false }
  const again = await transport.attach?.({}, send, listening())
  assert.deepEqual([again?.kind, again?.kind === 'accepted' && again.missed], ['accepted', 'token-expired'])
  const reported = await transport.receive?.(Buffer.from(ECHO), send)
  assert.ok(reported?.kind === 'success' && reported.output === CLEAN)
  assert.equal(needs.length, 3)
})

test('a report is not read while nobody knows what to take out of it', async () => {
  const refusal = { failure: 'secret-missing', message: 'gone', transient: true } as const
  const transport = withCredentials(
    transportOf(async () => assert.fail('sent'), { receive: async () => assert.fail('read') }),
    presenting({ result: { ok: false, refusal } }).credentials,
  )
  const reply = await transport.receive?.(Buffer.from(ECHO), makeSend(tool, null))
  assert.equal(reply?.kind, 'accepted')
})
