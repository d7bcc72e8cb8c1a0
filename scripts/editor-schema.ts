// Writes docs/schema/writ.schema.json, the schema of manifests for editors. `node scripts/editor-schema.ts`
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { editorSchema } from '../src/resource/editor-schema.ts'

export const EDITOR_SCHEMA = join(import.meta.dirname, '..', 'docs', 'schema', 'writ.schema.json')

export function renderEditorSchema(): string {
  return `${JSON.stringify(editorSchema(), null, 2)}\n`
}

if (import.meta.main) {
  mkdirSync(dirname(EDITOR_SCHEMA), { recursive: true })
  writeFileSync(EDITOR_SCHEMA, renderEditorSchema())
}
