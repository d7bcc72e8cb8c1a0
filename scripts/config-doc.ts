// Writes docs/reference/config.md from the schema of the settings.
import { writeFileSync } from 'node:fs'
import { renderConfigDoc } from '../src/config/config-doc.ts'

writeFileSync(new URL('../docs/reference/config.md', import.meta.url), renderConfigDoc())
