// Links that decide: only the key makes them, each says one thing, and none of it can be changed.
import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { createApprovalLinks, LINK_PATH } from '../../src/notify/approval-link.ts'
import { openLinkKey } from '../../src/notify/link-key-file.ts'
import { newLife } from '../store/fixture.ts'

const KEY = 'k'.repeat(43)
const LINK = {
  namespace: 'default',
  approvalId: '019a0000-0000-7000-8000-0000000000aa',
  target: 'mail',
  actor: 'alice',
  roles: ['treasurer'],
  expiresAt: 2000,
}
const links = createApprovalLinks(KEY, 'https://writ.example/base/')
const tokenOf = (url: string) => url.slice(url.indexOf(LINK_PATH) + LINK_PATH.length)

describe('a link', () => {
  it('says again what it was made with, until its time is over', () => {
    const url = links.make(LINK, 'news-1')
    assert.ok(url.startsWith('https://writ.example/base/v1/approval-links/'))
    const read = links.read(tokenOf(url), 1999)
    assert.ok(read.kind === 'link')
    const { id, ...rest } = read.link
    assert.deepEqual(rest, LINK)
    assert.match(id, /^[\w-]{22}$/)
    assert.equal(links.read(tokenOf(url), 2000).kind, 'expired')
  })

  it('is the same for the same news and person, and another one for others', () => {
    const idOf = (actor: string, about: string) => {
      const read = links.read(tokenOf(links.make({ ...LINK, actor }, about)), 0)
      return read.kind === 'link' ? read.link.id : undefined
    }
    assert.equal(idOf('alice', 'news-1'), idOf('alice', 'news-1'))
    const ids = [
      idOf('alice', 'news-1'),
      idOf('bob', 'news-1'),
      idOf('alice', 'news-2'),
      idOf('ali', 'cenews-1'),
    ]
    assert.equal(new Set(ids).size, ids.length)
  })

  it('that was changed in any place, shortened, lengthened or signed with another key is forged', () => {
    const token = tokenOf(links.make(LINK, 'news-1'))
    for (let at = 0; at < token.length; at++) {
      for (const mark of ['A', 'z', '.', '=', '-']) {
        if (token[at] === mark) continue
        const changed = token.slice(0, at) + mark + token.slice(at + 1)
        assert.equal(links.read(changed, 0).kind, 'forged', `place ${at}: ${mark}`)
      }
    }
    const other = createApprovalLinks('o'.repeat(43), 'https://writ.example')
    const [body] = token.split('.')
    for (const forged of [
      '',
      '.',
      '..',
      token.slice(0, -1),
      `${token}A`,
      `${token}=`,
      `${token}.x`,
      `${body}.`,
      `${body}`,
      tokenOf(other.make(LINK, 'news-1')),
      'A'.repeat(1_000_000),
    ])
      assert.equal(links.read(forged, 0).kind, 'forged')
  })
})

describe('the key of links', () => {
  function folder(t: TestContext): string {
    const path = mkdtempSync(join(tmpdir(), 'writ-link-'))
    t.after(() => rmSync(path, { recursive: true }))
    return join(path, 'link-key')
  }

  it('is made once, for its owner alone', (t) => {
    const path = folder(t)
    const key = openLinkKey(path, newLife(), { make: true })
    assert.equal(openLinkKey(path, newLife(), { make: false }), key)
    assert.equal(statSync(path).mode & 0o777, 0o600)
    assert.equal(readFileSync(path, 'utf8').trim(), key)
    assert.ok(key.length >= 43)
  })

  it('that is missing, that others can read or that is none is refused, without a word of what it holds', (t) => {
    const path = folder(t)
    const open = () => openLinkKey(path, newLife(), { make: false })
    assert.throws(open, /is not there; make one with: /)
    writeFileSync(path, 'geheim', { mode: 0o600 })
    assert.throws(open, (error: Error) => /holds no key/.test(error.message) && !/geheim/.test(error.message))
    writeFileSync(path, 'a'.repeat(64))
    chmodSync(path, 0o640)
    assert.throws(open, /others can read or change .*chmod 600/)
  })
})
