// How Cedar text is split before the engine sees it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { charactersIn, positionAt, splitCedar } from '../../../src/governance/cedar/cedar-text.ts'
import { engine } from './support.ts'

const SCOPE = '(principal, action, resource)'

test('a semicolon ends a policy, other than in texts and comments', () => {
  const text = `// one; "two"\n@reason("a; \\"; // b") forbid ${SCOPE} when { "x;" == ";" };permit ${SCOPE}; // end; \n`
  const statements = splitCedar(text)
  assert.equal(statements.length, 2)
  assert.equal(
    statements.map((one) => one.text).join(''),
    text.slice(0, text.lastIndexOf(';', text.indexOf(' // end')) + 1),
  )
  assert.deepEqual(positionAt(text, statements[0]?.start ?? -1), { line: 2, column: 1 })
  assert.equal(text.slice(statements[1]?.start).startsWith('permit'), true)
})

test('what has no semicolon at its end, or no end of its text, is a policy for the engine to refuse', () => {
  for (const text of [`forbid ${SCOPE}`, 'forbid (principal == Writ::Agent::"a', ';', '@', '"', '/ /']) {
    assert.equal(splitCedar(text).length, 1, text)
    assert.ok(engine.read(text).problems.length > 0, text)
  }
  for (const text of ['', ' \n', '// permit (principal, action, resource);'])
    assert.equal(splitCedar(text).length, 0)
})

test('every policy is asked as a permit, whatever words stand around its effect', () => {
  const written = [
    `forbid ${SCOPE};`,
    `// forbid\n@id("forbid") @reason("permit (forbid)") forbid ${SCOPE} when { "forbid" == context.risk };`,
    `@reason\n(\n"forbid"\n)\nforbid\n${SCOPE};`,
    `permit ${SCOPE} unless { context.risk == "forbid" };`,
  ]
  for (const text of written) {
    const [policy] = engine.read(text).policies
    assert.ok(policy, text)
    const [asked] = engine.read(policy.asPermit).policies
    assert.equal(asked?.json.effect, 'permit')
    assert.deepEqual({ ...asked?.json, effect: policy.json.effect }, policy.json)
    assert.equal(policy.asPermit.length, text.length, 'positions stay')
  }
})

test('bytes of the engine are characters of an editor', () => {
  const text = 'aü💶z'
  assert.deepEqual(
    [0, 1, 3, 7, 8].map((bytes) => charactersIn(text, bytes)),
    [0, 1, 2, 4, 5],
  )
})

test('a megabyte of anything is split in no time', () => {
  for (const part of ['"', '@ ', '@', '/', '// ', '(', '.', '\\', '"\\', ';', 'if ', '\u2028']) {
    const text = part.repeat(Math.ceil(1_000_000 / part.length))
    const began = process.cpuUsage()
    splitCedar(text)
    const { user } = process.cpuUsage(began)
    assert.ok(user < 5_000_000, `${JSON.stringify(part)} took ${user} us`)
  }
})
