// Pieces that the schemas of manifests share.
import Type from 'typebox'

// Three keywords of our own: `expected` is what a person is told to write; `sameAs` names the block of the field table that
// describes this one too; `notation` says how text is read, for the schema that editors use.
export const closed = { additionalProperties: false }
export const Duration = Type.String({
  expected: 'a duration such as 30s, 500ms or 24h',
  notation: 'duration',
})
export const Size = Type.Union([Type.Integer({ minimum: 1 }), Type.String()], {
  expected: 'a size such as 512Mi, or a number',
  notation: 'size',
})
export const Names = Type.Array(Type.String())
/** Not `.*`: that leaves out names with line breaks, and with them their values. */
export const StringMap = Type.Record(Type.String({ pattern: '^[\\s\\S]+$' }), Type.String(), closed)

/** Who decides about what has to be approved. */
export const ApprovalSchema = Type.Object(
  {
    role: Type.Optional(Type.String()),
    quorum: Type.Optional(Type.Integer()),
    ttl: Type.Optional(Duration),
  },
  closed,
)
