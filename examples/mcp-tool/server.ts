// An MCP server on standard streams with two tools: one reads notes, one writes one. NOTES names the file of its notes.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

const file = process.env.NOTES ?? 'notes.txt'

serveStdio(() => {
  const server = new McpServer({ name: 'notes', version: '1.0.0' })
  server.registerTool(
    'list_notes',
    {
      description: process.env.NOTES_LIST ?? 'All notes, the oldest first.',
      inputSchema: fromJsonSchema<Record<string, never>>({ type: 'object', properties: {} }),
      annotations: { readOnlyHint: true },
    },
    () => {
      const notes = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : []
      return { content: [{ type: 'text', text: notes.join(', ') }], structuredContent: { notes } }
    },
  )
  server.registerTool(
    'add_note',
    {
      description: 'Adds a note.',
      inputSchema: fromJsonSchema<{ text: string }>({
        type: 'object',
        properties: { text: { type: 'string', minLength: 1, maxLength: 200 } },
        required: ['text'],
      }),
    },
    ({ text }) => {
      appendFileSync(file, `${text.replaceAll('\n', ' ')}\n`)
      return { content: [{ type: 'text', text: 'added' }], structuredContent: { added: true } }
    },
  )
  return server
})
