// `npm run docs`: makes every page and schema anew that is made from the sources. Each is held to them by a test.
import { globSync } from 'node:fs'
import { ROOT } from './repo-files.ts'
import { runTool } from './run-tool.ts'

/** Parts of the others, which write nothing themselves. */
const PARTS: ReadonlySet<string> = new Set(['scripts/field-table-doc.ts'])

const scripts = ['scripts/editor-schema.ts', ...globSync('scripts/*-doc.ts', { cwd: ROOT }).sort()]
for (const script of scripts.filter((path) => !PARTS.has(path))) {
  const { code, stderr } = await runTool([script])
  if (code !== 0) {
    console.error(`docs: ${script} failed\n${stderr}`)
    process.exitCode = 1
  }
}
