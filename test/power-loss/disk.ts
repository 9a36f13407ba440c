/**
 * A simulated disk that applies recorded changes, and the states that it may be in after a loss of power at any moment.
 * The content of a file is certain up to its last sync; of every later write each page of 4 KiB may have any of its
 * versions, torn at 512 bytes, and sizes likewise. Names are certain up to a sync: of their folder (`strict`, the
 * guarantee of POSIX), or of any file (`journal`, as ext4 and xfs do, where later changes survive as a prefix).
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import type { Random } from '../support/random.ts'
import type { Change } from './recording.ts'

const PAGE_BYTES = 4_096
const SECTOR_BYTES = 512
const O_CREAT = 64
const O_TRUNC = 512

/** A change of content that is not yet durable. */
type Write = { readonly offset: number; readonly data: Buffer } | { readonly size: number }

interface File {
  readonly isFolder: false
  /** The durable content. */
  content: Buffer
  pending: Write[]
}

interface NameChange {
  readonly folder: Folder
  readonly name: string
  /** Undefined where the name is removed. */
  readonly entry: Entry | undefined
}

interface Folder {
  readonly isFolder: true
  /** The files as the process sees them, and as they are durable under each model. */
  readonly now: Map<string, Entry>
  readonly strict: Map<string, Entry>
  readonly journal: Map<string, Entry>
  pending: NameChange[][]
}

type Entry = File | Folder
export type Model = 'strict' | 'journal'

/** Which syncs are effective: defects of the program under test are simulated by ignoring some of them. */
export type CountsSync = (path: string, isFolder: boolean) => boolean

export class Disk {
  readonly #root: string
  readonly #top: Folder
  readonly #countsSync: CountsSync
  readonly #open = new Map<number, { readonly entry: Entry; readonly path: string }>()
  /** Changes of names that the journal has not written; a rename counts as one. */
  #journal: NameChange[][] = []

  /** @param root the recorded folder @param base a copy of its earlier content, which is durable */
  constructor(root: string, base: string, countsSync: CountsSync = () => true) {
    this.#root = root
    this.#top = load(base)
    this.#countsSync = countsSync
  }

  apply(change: Change): void {
    const { kind, text, descriptor } = change
    if (kind === 'O') this.#openFile(change)
    else if (kind === 'C') this.#open.delete(descriptor)
    else if (kind === 'W') this.#fileOf(descriptor).pending.push({ offset: change.offset, data: change.data })
    else if (kind === 'T') this.#fileOf(descriptor).pending.push({ size: change.offset })
    else if (kind === 'S') this.#sync(descriptor)
    else if (kind === 'D') this.#rename([{ path: text, entry: newFolder() }])
    else if (kind === 'U') this.#rename([{ path: text, entry: undefined }])
    else if (kind === 'R') {
      const entry = this.#find(text)
      this.#rename([
        { path: text, entry: undefined },
        { path: change.data.toString(), entry },
      ])
    }
  }

  /** Writes one of the states that a loss of power at this moment may leave. */
  writeState(folder: string, model: Model, random: Random): void {
    const certain = new Map<Folder, Map<string, Entry>>()
    const namesOf = (of: Folder): Map<string, Entry> => {
      const names = certain.get(of) ?? new Map(of[model])
      certain.set(of, names)
      return names
    }
    const survive = (changes: readonly NameChange[]): void => {
      for (const { folder: of, name, entry } of changes) {
        if (entry === undefined) namesOf(of).delete(name)
        else namesOf(of).set(name, entry)
      }
    }
    if (model === 'journal') {
      for (const changes of this.#journal.slice(0, random.integer(this.#journal.length + 1))) survive(changes)
    }
    // The log and the data are lost independently: only their order keeps a store consistent.
    const lost = random.pick(['any', 'any', 'log', 'data'] as const)
    const walk = (from: Folder, to: string): void => {
      if (model === 'strict') for (const changes of surviving(from.pending, random)) survive(changes)
      mkdirSync(to, { mode: 0o700 })
      for (const [name, entry] of namesOf(from)) {
        const path = join(to, name)
        if (entry.isFolder) walk(entry, path)
        else {
          const isLog = path.includes('/pg_wal/')
          const how = lost === 'any' ? 'any' : (lost === 'log') === isLog ? 'none' : 'all'
          writeFileSync(path, contentAfterLoss(entry, how, random))
        }
      }
    }
    walk(this.#top, folder)
  }

  #find(path: string): Entry | undefined {
    let at: Entry | undefined = this.#top
    for (const part of relative(this.#root, path).split('/')) {
      if (part === '') continue
      if (at === undefined || !at.isFolder) return undefined
      at = at.now.get(part)
    }
    return at
  }

  #openFile({ text, flags, descriptor }: Change): void {
    if (this.#find(text) === undefined && (flags & O_CREAT) !== 0) this.#rename([{ path: text, entry: newFile() }])
    const entry = this.#find(text)
    if (entry === undefined) throw new Error(`the recording opens ${text}, which is not there`)
    if ((flags & O_TRUNC) !== 0 && !entry.isFolder) entry.pending.push({ size: 0 })
    this.#open.set(descriptor, { entry, path: text })
  }

  #fileOf(descriptor: number): File {
    const entry = this.#open.get(descriptor)?.entry
    if (entry === undefined || entry.isFolder)
      throw new Error(`the recording writes to ${descriptor}, which is no file`)
    return entry
  }

  #rename(changed: readonly { readonly path: string; readonly entry: Entry | undefined }[]): void {
    const changes = changed.map(({ path, entry }) => {
      const folder = this.#find(dirname(path))
      if (folder === undefined || !folder.isFolder) throw new Error(`the recording has no folder for ${path}`)
      return { folder, name: basename(path), entry }
    })
    for (const { folder, name, entry } of changes) {
      if (entry === undefined) folder.now.delete(name)
      else folder.now.set(name, entry)
    }
    for (const folder of new Set(changes.map((change) => change.folder))) folder.pending.push(changes)
    this.#journal.push(changes)
  }

  #sync(descriptor: number): void {
    const { entry, path } = this.#open.get(descriptor) as { entry: Entry; path: string }
    if (!this.#countsSync(path, entry.isFolder)) return
    if (!entry.isFolder) {
      entry.content = applied(entry.content, entry.pending)
      entry.pending = []
    } else {
      for (const changes of entry.pending) {
        for (const { folder, name, entry: named } of changes) {
          if (folder === entry && named === undefined) folder.strict.delete(name)
          else if (folder === entry && named !== undefined) folder.strict.set(name, named)
        }
      }
      entry.pending = []
    }
    for (const { folder, name, entry: named } of this.#journal.flat()) {
      if (named === undefined) folder.journal.delete(name)
      else folder.journal.set(name, named)
    }
    this.#journal = []
  }
}

function newFile(content = Buffer.alloc(0)): File {
  return { isFolder: false, content, pending: [] }
}

function newFolder(): Folder {
  return { isFolder: true, now: new Map(), strict: new Map(), journal: new Map(), pending: [] }
}

function load(path: string): Folder {
  const folder = newFolder()
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const at = join(path, entry.name)
    const loaded = entry.isDirectory() ? load(at) : newFile(readFileSync(at))
    for (const names of [folder.now, folder.strict, folder.journal]) names.set(entry.name, loaded)
  }
  return folder
}

/** None, all, the first, or any of the pending changes of names. */
function surviving(changes: readonly NameChange[][], random: Random): readonly NameChange[][] {
  const how = random.integer(4)
  if (how === 0) return []
  if (how === 1) return changes
  if (how === 2) return changes.slice(0, random.integer(changes.length + 1))
  return changes.filter(() => random.chance(0.5))
}

function applied(content: Buffer, writes: readonly Write[]): Buffer {
  let size = content.length
  let longest = size
  for (const write of writes) {
    size = 'size' in write ? write.size : Math.max(size, write.offset + write.data.length)
    longest = Math.max(longest, size)
  }
  const result = Buffer.alloc(longest)
  content.copy(result)
  let end = content.length
  for (const write of writes) {
    if ('size' in write) {
      if (write.size < end) result.fill(0, write.size, end)
      end = write.size
    } else {
      write.data.copy(result, write.offset)
      end = Math.max(end, write.offset + write.data.length)
    }
  }
  return result.subarray(0, end)
}

function contentAfterLoss({ content, pending }: File, how: 'any' | 'none' | 'all', random: Random): Buffer {
  if (pending.length === 0 || how === 'none') return content
  if (how === 'all') return applied(content, pending)
  const kind = random.pick(['none', 'all', 'prefix', 'pages', 'pages'] as const)
  if (kind === 'none') return content
  if (kind === 'all') return applied(content, pending)
  if (kind === 'prefix') return applied(content, pending.slice(0, random.integer(pending.length + 1)))
  return applied(content, anyPages(pending, random))
}

/**
 * Applies any number of the writes of each page, the next one perhaps torn; truncations keep their position between
 * them.
 */
function anyPages(writes: readonly Write[], random: Random): Write[] {
  const kept = new Map<number, number>()
  const written = new Map<number, number>()
  for (const write of writes) {
    if ('size' in write) continue
    for (const page of pagesOf(write)) written.set(page, (written.get(page) ?? 0) + 1)
  }
  for (const [page, count] of written) kept.set(page, random.integer(count + 1))
  const result: Write[] = []
  for (const write of writes) {
    if ('size' in write) {
      result.push(write)
      continue
    }
    for (const page of pagesOf(write)) {
      const left = (kept.get(page) as number) - 1
      kept.set(page, left)
      const part = partOf(write, page * PAGE_BYTES, PAGE_BYTES)
      if (left >= 0) result.push(part)
      else if (left === -1 && random.chance(0.25)) result.push(...torn(part, random))
    }
  }
  return result
}

function* pagesOf({ offset, data }: { readonly offset: number; readonly data: Buffer }): Generator<number> {
  const last = Math.floor((offset + data.length - 1) / PAGE_BYTES)
  for (let page = Math.floor(offset / PAGE_BYTES); page <= last; page++) yield page
}

function partOf({ offset, data }: { readonly offset: number; readonly data: Buffer }, from: number, bytes: number) {
  const start = Math.max(offset, from)
  const end = Math.min(offset + data.length, from + bytes)
  return { offset: start, data: data.subarray(start - offset, end - offset) }
}

function torn(write: { readonly offset: number; readonly data: Buffer }, random: Random): Write[] {
  const sectors: Write[] = []
  const first = Math.floor(write.offset / SECTOR_BYTES) * SECTOR_BYTES
  for (let at = first; at < write.offset + write.data.length; at += SECTOR_BYTES) {
    if (random.chance(0.5)) sectors.push(partOf(write, at, SECTOR_BYTES))
  }
  return sectors
}
