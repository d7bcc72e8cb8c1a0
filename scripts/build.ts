// `npm run build`: sources to JavaScript in dist/, complete enough to be published. `--out FOLDER` builds elsewhere.
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import packageJson from '../package.json' with { type: 'json' }
import { ROOT } from './repo-files.ts'
import { runTool } from './run-tool.ts'

/** Builds into `out`, which is emptied first. Throws with all that is wrong. */
export async function build(out: string): Promise<void> {
  rmSync(out, { recursive: true, force: true })
  const compiled = await runTool([
    'node_modules/typescript/bin/tsc',
    '-p',
    'tsconfig.build.json',
    '--outDir',
    out,
  ])
  if (compiled.code !== 0) throw new Error(`the sources do not compile\n${compiled.stdout}${compiled.stderr}`)
  copyAssets(out)
  rewriteDeclarations(out)
  const wrong = [...missingTargets(out), ...typeScriptLeft(out)]
  if (wrong.length > 0) throw new Error(`${relative(ROOT, out)} is not complete\n${wrong.join('\n')}`)
}

/** What the program reads at run time and no compiler copies, such as migrations. */
function copyAssets(out: string): void {
  for (const path of globSync('**/*', {
    cwd: join(ROOT, 'src'),
    exclude: ['**/*.ts'],
    withFileTypes: true,
  })) {
    if (!path.isFile()) continue
    const from = join(path.parentPath, path.name)
    const to = join(out, relative(join(ROOT, 'src'), from))
    mkdirSync(dirname(to), { recursive: true })
    cpSync(from, to)
  }
}

const SPECIFIER = /((?:from|import)\s*\(?\s*['"]\.[^'"]*)(?<!\.d)\.ts(['"])/g

/** The compiler rewrites the specifiers of what runs, not those of declarations. */
function rewriteDeclarations(out: string): void {
  for (const path of filesIn(out, '**/*.d.ts')) {
    writeFileSync(path, readFileSync(path, 'utf8').replace(SPECIFIER, '$1.js$2'))
  }
}

function filesIn(out: string, pattern: string): string[] {
  return globSync(pattern, { cwd: out }).map((path) => join(out, path))
}

function missingTargets(out: string): string[] {
  return Object.entries(packageJson.exports)
    .flatMap(([subpath, target]) => Object.values(target).map((path) => [subpath, path] as const))
    .filter(([, path]) => !existsSync(join(out, relative('dist', path))))
    .map(([subpath, path]) => `exports["${subpath}"] names ${path}, which was not built`)
}

/** An import of a `.ts` file would fail in node_modules, where Node strips no types. */
function typeScriptLeft(out: string): string[] {
  return [...filesIn(out, '**/*.js'), ...filesIn(out, '**/*.d.ts')].flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(SPECIFIER)].map(([found]) => `${relative(out, path)}: ${found}`),
  )
}

/** What is wrong with the package in `folder`, as its users would see it. Suggestions count. */
export async function lintPackage(folder: string): Promise<readonly string[]> {
  const { messages, pkg } = await publint({ pkgDir: folder, pack: 'npm', strict: true })
  return messages.map(
    (message) => `${message.type}: ${formatMessage(message, pkg, { color: false }) ?? message.code}`,
  )
}

if (import.meta.main) {
  const at = process.argv.indexOf('--out')
  const out = resolve(ROOT, at < 0 ? 'dist' : (process.argv[at + 1] ?? 'dist'))
  try {
    await build(out)
    const wrong = at < 0 ? await lintPackage(ROOT) : []
    if (wrong.length > 0) throw new Error(`publint finds fault with package.json\n${wrong.join('\n')}`)
    console.log(`built ${relative(ROOT, out) || out}`)
  } catch (error) {
    console.error(`build: ${error instanceof Error ? error.message : String(error)}`)
    process.exitCode = 1
  }
}
