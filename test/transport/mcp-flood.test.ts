// Programs that write without end: how much of it is kept, and how much is heard, to the byte and to the message.
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createLines } from '../../src/transport/mcp/lines.ts'
import { createStdioWire } from '../../src/transport/mcp/stdio.ts'
import { createNotes, isAlive, makeWorld, peerProgram } from './mcp-harness.ts'

const MIB = 1_048_576
const CHUNK = Buffer.alloc(65_536, 'x')
const LINE = 4 * MIB

interface Fed {
  readonly peak: number
  readonly left: number
  readonly read: number
  readonly lines: number
  readonly tooLong: number
  readonly floods: readonly string[]
}

/** What a reader of lines keeps at most while it is fed, and what it makes of it. */
function feed(chunks: Iterable<Buffer>): Fed {
  let peak = 0
  let read = 0
  let count = 0
  let tooLong = 0
  const floods: string[] = []
  const lines = createLines({
    maxBytes: () => LINE,
    line: () => void count++,
    tooLong: () => void tooLong++,
    tail: () => {},
    flood: (why) => floods.push(why),
  })
  for (const chunk of chunks) {
    lines.push(chunk)
    if (floods.length === 0) read += chunk.length
    peak = Math.max(peak, lines.buffered)
  }
  return { peak, left: lines.buffered, read, lines: count, tooLong, floods }
}

function* repeat(chunk: Buffer, bytes: number): Iterable<Buffer> {
  for (let sum = 0; sum < bytes; sum += chunk.length) yield chunk
}

describe('what is kept of the output of a program', () => {
  it('of a line without end: no more than a line may be long, then its edge, then nothing', () => {
    const fed = feed(repeat(CHUNK, 256 * MIB))
    assert.equal(fed.peak, LINE)
    assert.deepEqual([fed.tooLong, fed.lines, fed.left], [1, 0, 0])
    assert.deepEqual(fed.floods, ['wrote a line without end'])
    assert.equal(fed.read, 64 * MIB)
  })

  it('of a line that is too long and ends: 512 bytes, and the next line is read', () => {
    function* chunks() {
      yield* repeat(CHUNK, LINE)
      yield CHUNK
      assert.equal(fedSoFar.buffered, 512)
      yield Buffer.from('\n{"next":1}\n')
    }
    const seen: string[] = []
    const fedSoFar = createLines({
      maxBytes: () => LINE,
      line: (line) => seen.push(line.toString()),
      tooLong: (head) => seen.push(`head ${head.length}`),
      tail: (tail) => seen.push(`tail ${tail.length}`),
      flood: (why) => seen.push(why),
    })
    for (const chunk of chunks()) fedSoFar.push(chunk)
    assert.deepEqual(seen, ['head 512', 'tail 512', '{"next":1}'])
    assert.equal(fedSoFar.buffered, 0)
  })

  it('of lines without end: the one that has not ended', () => {
    const text = 'all work and no play\n'
    const chunk = Buffer.from(text.repeat(1_000).slice(0, -5))
    const fed = feed(repeat(chunk, 4 * MIB))
    assert.deepEqual([fed.floods, fed.tooLong], [[], 0])
    assert.ok(fed.peak < 2 * text.length, String(fed.peak))
  })
})

/** A real program that floods, on a clock that stands still: until it is given up. */
async function flooded(t: TestContext, fault: string): Promise<{ messages: number; why: string }> {
  const world = makeWorld()
  const notes = createNotes()
  const wire = createStdioWire({
    world: { after: world.after, clock: { ...world.clock, monotonic: () => 0 } },
    program: peerProgram(notes, { PEER_BAD: fault }),
    path: '',
    presented: undefined,
  })
  t.after(async () => {
    await wire.close()
    assert.deepEqual(
      notes.starts.filter((pid) => isAlive(pid)),
      [],
    )
    notes.close()
    await world.network.destroy()
  })
  const { transport } = wire
  let messages = 0
  transport.onmessage = () => void messages++
  const given = new Promise<string>((resolve) => {
    transport.onerror = ({ message }) => resolve(message)
  })
  const ended = new Promise<void>((resolve) => {
    transport.onclose = resolve
  })
  await transport.start()
  const why = await given
  assert.equal(wire.isOpen(), false)
  await ended
  return { messages, why }
}

describe('what is heard of a program that floods', () => {
  it('messages that nobody asked for: 5,000, and not one more', async (t) => {
    const { messages, why } = await flooded(t, 'message-flood')
    assert.equal(messages, 5_000)
    assert.match(why, /nobody asked for/)
  })

  it('lines that are no messages, and a line without end: nothing', async (t) => {
    const noise = await flooded(t, 'noise-flood')
    assert.deepEqual([noise.messages, /nobody asked for/.test(noise.why)], [0, true], noise.why)
    const line = await flooded(t, 'line-flood')
    assert.deepEqual(line, { messages: 0, why: 'the program wrote a line without end' })
  })
})
