/**
 * Operator notes about the accounts and rules under review: the table, and the calls that add and list notes. A note
 * never changes and is never removed, and its subject may be in any state. Each note is written in one transaction with
 * its audit row, under its subject's lock, and has a later time than the note before it. Customers never see notes.
 */
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { idOf, operatorActor, operatorOf } from '../../access/clients/operator-calls.ts'
import { newId } from '../../platform/base/ids.ts'
import { NextPageCursor, type PageParameters, PageQuery, readPageQuery } from '../../platform/http/page-query.ts'
import { Problem } from '../../platform/http/problem.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { forUpdate } from '../../platform/store/lock-order.ts'
import { type Page, readPage } from '../../platform/store/page.ts'
import { sql } from '../../platform/store/sql.ts'

/** The records that may have notes, as named in the paths. */
export type NoteSubject = 'account' | 'rule'

/** Notes per account or rule. Longer correspondence belongs elsewhere. */
const NOTES_MAX = 200
const CHARACTERS_MAX = 2_000

interface ReviewNotesTable {
  id: string
  account_id: string | null
  rule_id: string | null
  text: string
  /** The operator's name. */
  author: string
  created_at: string
}

/** The migration `review-notes` defines `review_notes`. Only the subjects' ids are used. */
interface NoteTables {
  review_notes: ReviewNotesTable
  accounts: { id: string }
  rules: { id: string }
}

const Note = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    text: Type.String(),
    author: Type.String({ description: 'Name of the operator' }),
    created_at: Type.String({ format: 'date-time' }),
  },
  { title: 'ReviewNote' },
)
const NotePage = Type.Object(
  { items: Type.Array(Note), next_page_cursor: Type.Optional(NextPageCursor) },
  { title: 'ReviewNotePage' },
)
const NewNoteBody = Type.Object(
  {
    text: Type.String({
      minLength: 1,
      maxLength: CHARACTERS_MAX,
      pattern: '\\S',
      description: `At most ${NOTES_MAX} notes belong to one record. Repeating the newest one adds none`,
    }),
  },
  { additionalProperties: false },
)

type NoteDocument = Static<typeof Note>

interface ById {
  readonly Params: { readonly id: string }
}

const COLUMNS = ['id', 'text', 'author', 'created_at'] as const

/** Declares the calls for notes about one kind of record, relative to the prefix of `app`. */
export function registerNoteRoutes(app: FastifyInstance, db: Db, subject: NoteSubject): void {
  const path = `/${subject}s/:id/notes`
  app.get<ById & { Querystring: Static<typeof PageQuery> }>(
    path,
    { schema: { querystring: PageQuery, response: { 200: NotePage } } },
    ({ params, query }) => listNotes(db, subject, idOf(params.id), readPageQuery(query)),
  )
  app.post<ById & { Body: Static<typeof NewNoteBody> }>(
    path,
    { schema: { body: NewNoteBody, response: { 200: Note } } },
    (request) =>
      db.transaction((transaction: Transaction<NoteTables>) =>
        addNote(transaction, subject, idOf(request.params.id), {
          actor: operatorActor(request),
          author: operatorOf(request).name,
          text: request.body.text,
        }),
      ),
  )
}

interface NewNote {
  readonly actor: string
  readonly author: string
  readonly text: string
}

/** Adds a note. A repeated request, with the newest note's text and author, returns that note. */
async function addNote(
  transaction: Transaction<NoteTables>,
  subject: NoteSubject,
  id: string,
  { actor, author, text }: NewNote,
): Promise<NoteDocument> {
  const locked = transaction.selectFrom(`${subject}s`).select('id').where('id', '=', id)
  const clause = forUpdate(transaction, subject, [id])
  if ((await locked.modifyEnd(clause).executeTakeFirst()) === undefined) noSubject(subject)
  const ofSubject = transaction.selectFrom('review_notes').where(`${subject}_id`, '=', id)
  const newest = await ofSubject
    .select([...COLUMNS, sql<string>`count(*) over ()`.as('used')])
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (newest !== undefined) {
    const { used, ...note } = newest
    if (note.author === author && note.text === text) return note
    if (Number(used) >= NOTES_MAX) {
      const detail = `the ${subject} has ${NOTES_MAX} notes, the most it may have`
      throw new Problem('quota_exceeded', detail, { meta: { limit: NOTES_MAX, used: Number(used) } })
    }
  }
  const made = await transaction
    .insertInto('review_notes')
    .values({
      id: newId(),
      account_id: subject === 'account' ? id : null,
      rule_id: subject === 'rule' ? id : null,
      text,
      author,
      // Later than the previous note, even when the clock was set back.
      created_at: sql`greatest(
        date_trunc('milliseconds', clock_timestamp()), ${newest?.created_at ?? null}::timestamptz + interval '1 millisecond'
      )`,
    })
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
  // Without the text, because it may name people.
  await writeAudit(transaction, { actor, action: `${subject}.note`, subject: id, detail: { note_id: made.id } })
  return made
}

async function listNotes(
  db: Db,
  subject: NoteSubject,
  id: string,
  request: PageParameters,
): Promise<Page<NoteDocument>> {
  const tables = db.tables<NoteTables>()
  const binding = { operation: 'review-notes', owner: id, filters: {}, idType: 'uuid' } as const
  const query = tables.selectFrom('review_notes').select(COLUMNS).where(`${subject}_id`, '=', id)
  const page = await readPage(tables, query, { ...request, ...binding })
  if (page.items.length > 0) return page
  const known = tables.selectFrom(`${subject}s`).select('id').where('id', '=', id)
  if ((await known.executeTakeFirst()) === undefined) noSubject(subject)
  return page
}

function noSubject(subject: NoteSubject): never {
  throw new Problem('not_found', `there is no ${subject} with this id`)
}
