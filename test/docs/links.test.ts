// The docs lead somewhere: every link, anchor, path, command and flag in them exists.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { describe, it } from 'node:test'
import packageJson from '../../package.json' with { type: 'json' }
import { ROOT } from '../../scripts/repo-files.ts'
import { loadCommands } from '../../src/cli/command/registry.ts'
import type { Command } from '../../src/cli/command.ts'
import { parseCommandLine } from '../../src/cli/parse-command-line.ts'
import { allPages, type Page, readPage } from './markdown.ts'

const pages = allPages()
const commands = new Map<string, Command>((await loadCommands()).map((command) => [command.name, command]))

/** Links of `page` that lead nowhere. */
function brokenLinks(page: Page, all: readonly Page[]): readonly string[] {
  return page.links.flatMap(({ target, line }) => {
    if (/^[a-z]+:/.test(target)) return []
    const [file = '', anchor] = target.split('#')
    const path = file === '' ? page.path : posix.normalize(posix.join(posix.dirname(page.path), file))
    if (file !== '' && !existsSync(join(ROOT, path)))
      return [`${page.path}:${line}: ${target} does not exist`]
    if (anchor === undefined || !path.endsWith('.md')) return []
    const anchors = path === page.path ? page.anchors : all.find((one) => one.path === path)?.anchors
    return anchors?.has(anchor) ? [] : [`${page.path}:${line}: ${target} has no such heading`]
  })
}

const PATH = /^(src|test|scripts|bench|examples|docs|bin)\/[\w./-]+$/

/** Paths of this project that `page` names and that are not there. */
function brokenPaths(page: Page): readonly string[] {
  return page.code.flatMap(({ text, line }) => {
    // NAME and the like stand for something.
    if (!PATH.test(text) || /[A-Z]{3,}/.test(text)) return []
    return existsSync(join(ROOT, text)) ? [] : [`${page.path}:${line}: ${text} does not exist`]
  })
}

/** The words of a shell command after `writ`, as far as a shell would hand them over. */
function wordsOf(line: string): readonly string[] | undefined {
  const match = /(?:^|\s)(?:bin\/)?writ\s+(.*)$/.exec(line.replace(/\s+#.*$/, '').replace(/\s+&(\s.*)?$/, ''))
  if (match?.[1] === undefined) return undefined
  const [own = ''] = match[1].split(/\s[|<>;]|&&/)
  return [...own.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '')
}

/** What is wrong with one mention of the command; `whole` when it is a line that somebody would run. */
function wrongCommand(text: string, whole: boolean): string | undefined {
  const words = wordsOf(text)
  if (words === undefined || words.length === 0 || words[0] === 'COMMAND') return undefined
  const [first = '', second] = words
  if (/^(-h|--help|--version)$/.test(first)) return undefined
  // A name has one word or two.
  const name = commands.has(`${first} ${second}`) ? `${first} ${second}` : first
  const rest = words.slice(name.split(' ').length)
  const command = commands.get(name)
  if (command === undefined) return `there is no command 'writ ${name}'`
  if (whole) {
    try {
      parseCommandLine(command, rest)
      return undefined
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }
  const unknown = rest
    .filter((word) => word.startsWith('--'))
    .map((word) => word.slice(2).split('=')[0] ?? '')
    .find((flag) => flag !== 'help' && !Object.hasOwn(command.flags, flag))
  return unknown === undefined ? undefined : `'writ ${name}' has no flag --${unknown}`
}

function brokenCommands(page: Page): readonly string[] {
  const fenced = page.fences
    .filter((fence) => fence.language === 'sh')
    .flatMap((fence) =>
      fence.text
        .split('\n')
        .map((text, at) => ({ text, line: fence.line + at, whole: !text.startsWith('#') })),
    )
    .filter(({ whole }) => whole)
  // Inside a sentence a command may be cut short; one with a placeholder for its argument is meant to be complete.
  const inline = page.code
    .filter(({ text }) => /^(bin\/)?writ /.test(text))
    .map((one) => ({ ...one, whole: /\s[A-Z]{2,}$/.test(one.text) }))
  return [...fenced, ...inline].flatMap(({ text, line, whole }) => {
    const wrong = wrongCommand(text, whole)
    return wrong === undefined ? [] : [`${page.path}:${line}: ${text.trim()}: ${wrong}`]
  })
}

/** npm scripts that `page` names and that package.json does not have. */
function brokenScripts(page: Page): readonly string[] {
  const texts = [
    ...page.code,
    ...page.fences.flatMap((fence) =>
      fence.text.split('\n').map((text, at) => ({ text, line: fence.line + at })),
    ),
  ]
  return texts.flatMap(({ text, line }) =>
    [...text.matchAll(/\bnpm run ([\w:-]+)/g)]
      .filter(([, name]) => !Object.hasOwn(packageJson.scripts, name ?? ''))
      .map(([, name]) => `${page.path}:${line}: there is no npm script '${name}'`),
  )
}

function none(wrong: readonly string[]): void {
  if (wrong.length > 0) assert.fail(wrong.join('\n'))
}

describe('the docs', () => {
  it('are all read', () => {
    const paths = pages.map((page) => page.path)
    for (const path of ['README.md', 'ARCHITECTURE.md', 'docs/README.md'])
      assert.ok(paths.includes(path), path)
  })

  it('have links and anchors that resolve', () => none(pages.flatMap((page) => brokenLinks(page, pages))))
  it('name paths that exist', () => none(pages.flatMap(brokenPaths)))
  it('show commands and flags that the command line has', () => none(pages.flatMap(brokenCommands)))
  it('name npm scripts that exist', () => none(pages.flatMap(brokenScripts)))

  it('have every page in the map', () => {
    const map = pages.find((page) => page.path === 'docs/README.md')
    const linked = new Set(map?.links.map(({ target }) => posix.join(dirname('docs/README.md'), target)))
    const missing = pages
      .map((page) => page.path)
      .filter((path) => /^docs\/(guide|reference)\//.test(path) && !linked.has(path))
    none(missing.map((path) => `${path} is not in docs/README.md`))
  })
})

describe('the check of the docs', () => {
  const page = (text: string) => readPage('docs/page.md', text)

  it('fails on a link or an anchor that leads nowhere', () => {
    const broken = (text: string) => brokenLinks(page(text), pages).length
    assert.equal(broken('[a](gone.md)'), 1)
    assert.equal(broken('[a](README.md#gone)'), 1)
    assert.equal(broken('[a](#gone)\n# There'), 1)
    assert.equal(broken('[a](#there-is-one)\n# There *is* `one`!'), 0)
    assert.equal(broken('[a](README.md) [b](https://example.com) `[c](gone.md)`'), 0)
  })

  it('fails on a path that is not there', () => {
    assert.equal(brokenPaths(page('`src/gone.ts`')).length, 1)
    assert.equal(brokenPaths(page('`src/util/` and `src/index.ts` and `src/store/NAME/`')).length, 0)
  })

  it('fails on a command, a flag or an argument that is not there', () => {
    const broken = (text: string) => brokenCommands(page(text)).length
    assert.equal(broken('`writ fly`'), 1)
    assert.equal(broken('`writ up --wings`'), 1)
    assert.equal(broken('`writ validate FILE`'), 1)
    assert.equal(broken('```sh\nwrit validate tool.yaml\n```'), 1)
    assert.equal(broken('```sh\nwrit call weather --set city=Oslo   # a comment\n```'), 0)
    assert.equal(broken('`writ COMMAND --help`, `writ up --port 0`'), 0)
    assert.equal(broken('```sh\nwrit up --port 0 & server=$!\n```'), 0)
    assert.equal(broken('```sh\nwrit up --wings & server=$!\n```'), 1)
  })

  it('fails on an npm script that is not there', () => {
    assert.equal(brokenScripts(page('`npm run fly` and `npm run check`')).length, 1)
  })
})
