// Checkpoints kept outside the store: files, an address, and what happens when they cannot be handed over.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { Agent } from 'undici'
import { createEgress } from '../../src/egress/egress.ts'
import { createEvents } from '../../src/event/event.ts'
import { type AnchorTarget, createAnchor } from '../../src/ledger/anchor.ts'
import { anchorFile, headFile, lastKeptHead, webhook } from '../../src/ledger/anchor-target.ts'
import { makeKeyText, readAuditKey, readPublicKey } from '../../src/ledger/audit-key.ts'
import { openKeyFile } from '../../src/ledger/audit-key-file.ts'
import { headOf, type KeptHead, signCheckpoint } from '../../src/ledger/checkpoint.ts'
import { newLife } from '../store/fixture.ts'

const key = readAuditKey(makeKeyText())

function head(number: number): KeptHead {
  const row = signCheckpoint(
    { number, at: number, prev: '', complete: number, dropped: 0, heads: [], keys: {} },
    key,
  )
  return headOf(row, key.publicKey)
}

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'writ-anchor-'))
  t.after(() => rmSync(path, { recursive: true }))
  return path
}

/** An anchor with a target that the test steers, and timers that it runs. */
function steered(queue: number) {
  const kept: number[] = []
  const state = { fails: false }
  const retries: { readonly ms: number; readonly run: () => void }[] = []
  const events = createEvents()
  const failures: string[] = []
  events.on('audit:failed', ({ what, message }) => failures.push(`${what}: ${message}`))
  const target: AnchorTarget = {
    name: 'the safe',
    queue,
    async keep({ number }) {
      if (state.fails) throw new Error('it is locked')
      kept.push(number)
    },
  }
  const world = {
    ...newLife(),
    after: (ms: number, run: () => void) => {
      retries.push({ ms, run })
      return { cancel: () => {} }
    },
  }
  return { anchor: createAnchor(world, events, target), kept, state, retries, failures }
}

const afterATurn = (_ms: number, run: () => void) => {
  setImmediate(run)
  return { cancel: () => {} }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('an anchor', () => {
  it('S39: is handed every checkpoint, in order', async () => {
    const { anchor, kept } = steered(64)
    for (const number of [1, 2, 3]) anchor.put(head(number))
    await anchor.close()
    assert.deepEqual(kept, [1, 2, 3])
    assert.equal(anchor.problem, undefined)
  })

  it('S39: that cannot keep one says so, and tries again later and later', async () => {
    const { anchor, kept, state, retries, failures } = steered(64)
    state.fails = true
    anchor.put(head(1))
    await turn()
    assert.match(anchor.problem ?? '', /checkpoint 1 is not kept at the safe: it is locked/)
    assert.deepEqual(failures, [`anchor: ${anchor.problem}`])
    retries[0]?.run()
    await turn()
    assert.deepEqual(
      retries.map(({ ms }) => ms),
      [1_000, 2_000],
    )
    state.fails = false
    retries[1]?.run()
    await turn()
    assert.deepEqual(kept, [1])
    assert.equal(anchor.problem, undefined)
  })

  it('S39: keeps no more than so many waiting, and the newest among them', async () => {
    const { anchor, kept, state, retries } = steered(2)
    state.fails = true
    for (let number = 1; number <= 10; number++) anchor.put(head(number))
    await turn()
    state.fails = false
    retries[0]?.run()
    await turn()
    assert.deepEqual(kept, [9, 10])
  })

  it('S39: tries what waits once more at the end, and then lets go', async () => {
    const { anchor, kept, state } = steered(2)
    state.fails = true
    anchor.put(head(1))
    await turn()
    await anchor.close()
    assert.deepEqual(kept, [])
  })
})

describe('an anchor that does not answer', () => {
  it('S39: does not hold the end up', async () => {
    const world = { ...newLife(), after: afterATurn }
    let asked = 0
    const keep = () => {
      asked++
      return new Promise<void>(() => {})
    }
    const anchor = createAnchor(world, createEvents(), { name: 'the void', queue: 1, keep })
    anchor.put(head(1))
    await anchor.close()
    assert.equal(asked, 1)
  })
})

describe('the files of an anchor', () => {
  it('S39: the newest head replaces the one before as a whole', async (t) => {
    const path = join(folder(t), 'audit-head.json')
    const target = headFile(path)
    assert.equal(lastKeptHead(path), undefined)
    await target.keep(head(1))
    await target.keep(head(2))
    assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')), head(2))
    assert.deepEqual(lastKeptHead(path), head(2))
    assert.equal(existsSync(`${path}.new`), false)
  })

  it('S39: a file gets every checkpoint, and a line that a crash cut short harms none', async (t) => {
    const path = join(folder(t), 'heads.jsonl')
    const target = anchorFile(path)
    await target.keep(head(1))
    appendFileSync(path, '{"kind":"checkpoint","num')
    assert.deepEqual(lastKeptHead(path), head(1))
    await target.keep(head(2))
    assert.deepEqual(lastKeptHead(path), head(2))
    assert.match(readFileSync(path, 'utf8'), /"number":1/)
  })

  it('a file that holds something else is refused by name', (t) => {
    const path = join(folder(t), 'audit-head.json')
    writeFileSync(path, 'something else\n')
    assert.throws(() => lastKeptHead(path), /audit-head\.json holds no checkpoint/)
  })
})

describe('a webhook', () => {
  it('S39: is sent each checkpoint, and anything but 2xx is a failure', async (t) => {
    const bodies: string[] = []
    let status = 204
    const server = createServer((request, response) => {
      let body = ''
      request.on('data', (chunk) => {
        body += chunk
      })
      request.on('end', () => {
        bodies.push(body)
        response.writeHead(status).end()
      })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const network = new Agent()
    t.after(async () => {
      await network.destroy()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    const target = webhook(
      createEgress({ world: { ...newLife(), network } }),
      `http://127.0.0.1:${port}/anchor?token=geheim`,
    )
    await target.keep(head(7))
    assert.deepEqual(JSON.parse(bodies[0] ?? ''), head(7))
    status = 500
    await assert.rejects(target.keep(head(8)), /it answered with status 500/)
    assert.throws(
      () => webhook(createEgress({ world: newLife() }), 'https://'),
      /is no http or https address/,
    )
    assert.equal(target.name.includes('geheim'), false, 'an address may hold a secret')
  })
})

describe('the key file', () => {
  it('S39: is made once, for its owner alone', (t) => {
    const path = join(folder(t), 'audit-key.pem')
    const made = openKeyFile(path, { make: true })
    assert.equal(statSync(path).mode & 0o777, 0o600)
    assert.equal(openKeyFile(path, { make: true }).keyId, made.keyId)
    assert.match(made.keyId, /^[0-9a-f]{16}$/)
    assert.equal(existsSync(`${path}.new`), false)
  })

  it('S39: that others can read, that is missing or that is no key is refused, without a word of what it holds', (t) => {
    const path = join(folder(t), 'audit-key.pem')
    assert.throws(() => openKeyFile(path, { make: false }), /is not there; make one with: openssl/)
    writeFileSync(path, makeKeyText(), { mode: 0o644 })
    assert.throws(() => openKeyFile(path, { make: true }), /others can read or change .*chmod 600/)
    rmSync(path)
    writeFileSync(path, 'geheim', { mode: 0o600 })
    const noKey = (error: Error) =>
      /holds no Ed25519 private key/.test(error.message) && !/geheim/.test(error.message)
    assert.throws(() => openKeyFile(path, { make: true }), noKey)
  })

  it('the public half reads as base64 and as nothing else', () => {
    assert.equal(readPublicKey(key.publicKey)?.keyId, key.keyId)
    assert.equal(readPublicKey(makeKeyText()), undefined, 'a private key has no business there')
    assert.equal(readPublicKey('nonsense'), undefined)
  })
})
