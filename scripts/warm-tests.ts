// `node scripts/warm-tests.ts FILE ...`: erases the types of test files once, into the compile cache that NODE_COMPILE_CACHE
// names. Each of them is loaded by one process only, which would have to load Node's TypeScript parser for it alone.
import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const files = process.argv.slice(2).map((path) => pathToFileURL(resolve(path)).href)
const wanted = new Set(files)

// What a test file imports throws, so that it is read and compiled, and nothing of it runs.
registerHooks({
  resolve(specifier, context, nextResolve) {
    if (context.parentURL !== undefined && wanted.has(context.parentURL)) {
      return { url: 'data:text/javascript,throw 0', format: 'module', shortCircuit: true }
    }
    return nextResolve(specifier, context)
  },
})

for (const file of files) await import(file).catch(() => {})
