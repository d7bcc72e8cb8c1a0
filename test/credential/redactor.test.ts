// Secrets are taken out by their value, in every form they come back in.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRedactor, REDACTED } from '../../src/credential/redactor.ts'
import type { Json } from '../../src/util/json.ts'

const SECRET = 'sk/live+"51é ~H8q'
const redactor = createRedactor([SECRET])
const b64 = (text: string, kind: 'base64' | 'base64url' = 'base64') => Buffer.from(text).toString(kind)

const jsonEscaped = JSON.stringify(SECRET).slice(1, -1)
const unicodeEscaped = [...SECRET].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
const everyByte = [...Buffer.from(SECRET)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')

const FORMS: Record<string, string> = {
  raw: SECRET,
  'json-escaped': jsonEscaped,
  'json-escaped with slashes': jsonEscaped.replaceAll('/', '\\/'),
  'json-escaped twice': JSON.stringify(jsonEscaped).slice(1, -1),
  'as \\u escapes': unicodeEscaped,
  'as \\u escapes in upper case': unicodeEscaped.toUpperCase().replaceAll('\\U', '\\u'),
  'url-encoded': encodeURIComponent(SECRET),
  'url-encoded in lower case': encodeURIComponent(SECRET).replace(/%[0-9A-F]{2}/g, (one) =>
    one.toLowerCase(),
  ),
  'url-encoded twice': encodeURIComponent(encodeURIComponent(SECRET)),
  'as a form field': new URLSearchParams({ a: SECRET }).toString().slice(2),
  'every byte url-encoded': everyByte,
  'some bytes url-encoded': `%73%6B${encodeURIComponent(SECRET.slice(2))}`,
  'in html': SECRET.replaceAll('"', '&quot;').replaceAll('+', '&#43;').replaceAll('/', '&#x2F;'),
  hex: Buffer.from(SECRET).toString('hex'),
  'hex in upper case': Buffer.from(SECRET).toString('hex').toUpperCase(),
  base64: b64(SECRET),
  'base64 without padding': b64(SECRET).replace(/=+$/, ''),
  base64url: b64(SECRET, 'base64url'),
  'base64 of a latin1 header': Buffer.from(SECRET, 'latin1').toString('base64'),
  'base64, url-encoded': encodeURIComponent(b64(SECRET)),
  'base64, url-encoded in lower case': encodeURIComponent(b64(SECRET)).replace(/%[0-9A-F]{2}/g, (one) =>
    one.toLowerCase(),
  ),
  'base64 of the url-encoded form': b64(encodeURIComponent(SECRET)),
  'base64url of the url-encoded form': b64(encodeURIComponent(SECRET), 'base64url'),
  'base64 of the form field': b64(new URLSearchParams({ a: SECRET }).toString().slice(2)),
  'base64 of the path segments': b64(SECRET.split('/').map(encodeURIComponent).join('/')),
  'base64 of the json-escaped form': b64(jsonEscaped),
  'base64 of the url-encoded form, url-encoded': encodeURIComponent(b64(encodeURIComponent(SECRET))),
}

for (const [name, form] of Object.entries(FORMS)) {
  test(`a secret ${name} is found, alone and inside a text`, () => {
    assert.equal(redactor.text(form), REDACTED)
    assert.equal(redactor.text(`before ${form} after`), `before ${REDACTED} after`)
    assert.equal(redactor.text(`${form} ${form}`), `${REDACTED} ${REDACTED}`)
  })

  test(`a secret ${name} is found wherever it is cut into pieces`, () => {
    const whole = `before ${form} after`
    for (let cut = 0; cut <= whole.length; cut++) {
      const stream = redactor.stream()
      const said = stream.push(whole.slice(0, cut)) + stream.push(whole.slice(cut)) + stream.end()
      assert.equal(said, `before ${REDACTED} after`, `cut at ${cut}`)
    }
    const drip = redactor.stream()
    const parts = [...whole].map((one) => drip.push(one))
    assert.equal(parts.join('') + drip.end(), `before ${REDACTED} after`)
  })
}

test('base64 of something larger gives nothing away at any alignment', () => {
  const secret = 'correct-horse-battery'
  const clean = createRedactor([secret])
  for (const before of ['', 'u', 'us', 'usr', 'user:', 'user']) {
    for (const after of ['', 'x', 'xy', 'xyz']) {
      for (const kind of ['base64', 'base64url'] as const) {
        const said = clean.text(b64(`${before}${secret}${after}`, kind))
        assert.match(said, /\[redacted\]/, `${before}|${after}`)
        const rest = Buffer.from(said.replace(REDACTED, ''), kind).toString('latin1')
        assert.ok(!rest.includes(secret.slice(2, 8)), rest)
      }
    }
  }
})

test('base64 of a url-encoded client, as OAuth 2 shows it, gives nothing away', () => {
  const secret = 's3cret of/the+client:1'
  const clean = createRedactor([secret])
  for (const client of ['a', 'ab', 'abc', 'writ-agent']) {
    const field = new URLSearchParams({ a: secret }).toString().slice(2)
    const said = clean.text(`Basic ${b64(`${client}:${field}`)}`)
    assert.match(said, /^Basic .*\[redacted\]/, client)
    const rest = Buffer.from(said.slice(6).replace(REDACTED, ''), 'base64').toString('latin1')
    assert.ok(!rest.includes('cret'), rest)
  }
})

test('a stream gives out at once what cannot be part of a secret', () => {
  const stream = redactor.stream()
  assert.equal(stream.push('hello '), 'hello ')
  assert.equal(stream.push('wor'), 'wor')
  assert.equal(stream.push('ld s'), 'ld ')
  assert.equal(stream.push('k, no'), 'sk, no')
  assert.equal(stream.end(), '')
})

test('JSON is searched in its keys, its texts and its numbers; what is clean stays the same object', () => {
  const clean = createRedactor(['12345678', 'passw0rd!'])
  const dirty: Json = { a: ['x', { 'passw0rd!': 12345678, n: 1.5 }], b: null, c: true }
  assert.deepEqual(clean.json(dirty), {
    a: ['x', { [REDACTED]: REDACTED, n: 1.5 }],
    b: null,
    c: true,
  })
  const same: Json = { a: [1, 'text', { deep: false }] }
  assert.equal(clean.json(same), same)
  assert.deepEqual(clean.json({ 'passw0rd!': 1, '12345678': 2 }), { '[redacted]': 2, '[redacted] 2': 1 })
})

test('overlapping secrets leave nothing of each other', () => {
  const clean = createRedactor(['abcdefgh', 'efghijkl', 'user-name:abcdefgh'])
  assert.equal(clean.text('abcdefghijkl'), REDACTED)
  assert.equal(clean.text('user-name:abcdefgh!'), `${REDACTED}!`)
  assert.equal(clean.text('abcdefgabcdefgh'), `abcdefg${REDACTED}`)
})

test('a text that ends within a secret longer than itself keeps nothing of it, whole or in pieces', () => {
  const token = `eyJ${'k3yM4teri4l'.repeat(100)}`
  const redactor = createRedactor([token])
  for (const shown of [200, 500, 1_000]) {
    const text = `invalid token ${token.slice(0, shown)}`
    assert.equal(redactor.text(text), `invalid token ${REDACTED}`)
    const stream = redactor.stream()
    assert.equal(stream.push(text) + stream.end(), `invalid token ${REDACTED}`)
  }
})

test('a long text that was cut through a secret keeps neither end of it', () => {
  const filler = 'and so on, '.repeat(20)
  for (const [name, form] of Object.entries(FORMS)) {
    for (let cut = 1; cut < form.length; cut++) {
      const before = redactor.text(filler + form.slice(0, cut))
      const after = redactor.text(form.slice(cut) + filler)
      if (cut >= 8)
        assert.ok(!before.includes(form.slice(0, 8)), `${name} cut after ${cut}: ${before.slice(-30)}`)
      const rest = form.slice(cut)
      // What is left of an escape in front is no part of a secret any more.
      if (rest.length >= 8 + 5 && !/[%\\&]/.test(form))
        assert.ok(after.startsWith(REDACTED), `${name} cut before ${cut}: ${after.slice(0, 40)}`)
    }
  }
  const unicode = FORMS['as \\u escapes'] ?? ''
  for (let cut = 1; cut < 20; cut++) {
    const after = redactor.text(unicode.slice(cut) + filler)
    assert.ok(!after.includes(unicode.slice(24, 48)), `${cut}: ${after.slice(0, 40)}`)
  }
  assert.equal(redactor.text('a short text ends with sk/live+'), 'a short text ends with sk/live+')
})

test('what is shorter than six characters is not looked for', () => {
  const clean = createRedactor(['bob', 'admin'])
  assert.equal(clean.text('bob is admin'), 'bob is admin')
  assert.equal(createRedactor(['']).empty, true)
})

test('the time does not depend on how much a text is like a secret', () => {
  const clean = createRedactor(['a'.repeat(5_000)])
  const almost = `b${`${'a'.repeat(4_999)}b`.repeat(400)}`
  assert.ok(clean.text(almost) === almost)
  const escaped = '%61\\u0061&#97;'.repeat(100_000)
  assert.match(clean.text(escaped), /^\[redacted\]/)
})

test('keys of objects that become the same by the thousand take no more time than others', () => {
  const value = 'simpletoken1234567890abcdef'
  const keys = Array.from({ length: 15_000 }, (_, count) =>
    [...value].map((c, at) => ((count >> at) & 1 ? `\\u00${c.charCodeAt(0).toString(16)}` : c)).join(''),
  )
  const began = performance.now()
  const clean = createRedactor([value]).json(Object.fromEntries(keys.map((key) => [key, 1])))
  assert.equal(Object.keys(clean).length, 15_000)
  assert.ok(Object.keys(clean).every((key) => key.startsWith(REDACTED)))
  // Tried in turn they took the better part of a minute.
  assert.ok(performance.now() - began < 10_000)
})

test('the lines of a private key are found one by one, also of one inside JSON', () => {
  const lines = ['MIIEvQIBADANBgkqhkiG9w0BAQEFAASC', 'BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj']
  const pem = `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----`
  for (const secret of [pem, JSON.stringify({ type: 'service_account', private_key: pem })]) {
    const clean = createRedactor([secret])
    for (const line of lines) assert.equal(clean.text(`  2 | ${line}`), `  2 | ${REDACTED}`)
    assert.equal(clean.text('-----BEGIN PRIVATE KEY-----'), '-----BEGIN PRIVATE KEY-----')
  }
})
