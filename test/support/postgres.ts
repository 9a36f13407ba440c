/**
 * A temporary PostgreSQL for tests: a cluster in a temporary folder, only on a Unix socket in it, run as another user
 * when we are root. It ends, and its folder is removed, with the process that started it, however that ends: a shell
 * process waits for the end of a pipe. Suites that need one are skipped by name without server programs.
 *
 * One server serves a whole test run (`sharedDatabase`). A test that stops or suspends it starts its own.
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { inject } from 'vitest'
import { once } from './awaited.ts'
import { findPostgresPrograms } from './postgres-programs.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The socket on which the process that runs the tests returns the shared server's address. */
    postgresBroker: string
  }
}

/** Part of the socket's name. The server listens on no TCP address by default. */
const PORT = 5_432
const READY_MILLISECONDS_MAX = 60_000

/** For `describe.skipIf`. The title contains the reason. */
export const hasPostgres = findPostgresPrograms() !== undefined

/** A database on the shared server with this version's schema, copied for new ones. */
const SCHEMA_TEMPLATE = 'schema_template'

/** The address of a new, empty database on the server shared by all test files. */
export async function sharedDatabase(): Promise<string> {
  return await createDatabase(await sharedServer())
}

/** The address of a new database with this version's schema on that server: a copy takes a quarter of the time. */
export async function migratedDatabase(): Promise<string> {
  return await createDatabase(await sharedServer(), { template: SCHEMA_TEMPLATE })
}

async function sharedServer(): Promise<string> {
  const socket = createConnection(inject('postgresBroker'))
  socket.setEncoding('utf8')
  let answer = ''
  for await (const chunk of socket) answer += chunk
  const { folder, problem } = JSON.parse(answer) as { folder?: string; problem?: string }
  if (folder === undefined) throw new Error(problem)
  return folder
}

interface DatabaseOptions {
  readonly name?: string
  readonly template?: string
  readonly password?: string | undefined
}

async function createDatabase(folder: string, options: DatabaseOptions = {}): Promise<string> {
  const { name = `test_${randomBytes(8).toString('hex')}`, template = 'template1', password } = options
  await withClient(addressOf(folder, 'postgres', password), (client) =>
    // Copying the files takes half the processor time of logging each page.
    client.query(`create database ${name} template ${template} strategy file_copy`),
  )
  return addressOf(folder, name, password)
}

function addressOf(folder: string, database: string, password?: string, port = PORT): string {
  const user = password === undefined ? 'tidegate' : `tidegate:${password}`
  return `postgres://${user}@/${database}?host=${encodeURIComponent(folder)}&port=${port}`
}

/** A connection besides the service's, to inspect the server and to disturb it. */
export async function withClient<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url })
  // A stopped server ends this connection too, and pending queries report it.
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

export interface ServerOptions {
  /** The server's authentication method: `trust`, or `scram-sha-256` with the password of the user `tidegate`. */
  readonly password?: string
  /** postgresql.conf settings on the command line. */
  readonly settings?: Readonly<Record<string, string | number>>
}

export class PostgresServer {
  readonly folder: string
  readonly #programs: string
  readonly #user: { readonly uid: number; readonly gid: number } | undefined
  readonly #password: string | undefined
  readonly #settings: Readonly<Record<string, string | number>>
  #shell: ChildProcess | undefined
  #pid = 0

  private constructor(folder: string, programs: string, { password, settings = {} }: ServerOptions) {
    this.folder = folder
    this.#programs = programs
    this.#user = otherUser()
    this.#password = password
    this.#settings = settings
  }

  /** Creates a new cluster, which is not started yet. */
  static create(options: ServerOptions = {}): PostgresServer {
    const { password } = options
    const programs = findPostgresPrograms()
    if (programs === undefined) throw new Error('there are no PostgreSQL server programs on this machine')
    const folder = mkdtempSync(join(tmpdir(), `tidegate-postgres-${process.pid}-`))
    const server = new PostgresServer(folder, programs, options)
    chmodSync(folder, 0o755)
    if (server.#user !== undefined) chownSync(folder, server.#user.uid, server.#user.gid)
    const passwordFile = join(folder, 'password')
    if (password !== undefined) {
      writeFileSync(passwordFile, password)
      // A service that ran in this process may have changed the umask.
      chmodSync(passwordFile, 0o644)
    }
    const authentication =
      password === undefined ? ['--auth=trust'] : ['--auth=scram-sha-256', `--pwfile=${passwordFile}`]
    execFileSync(
      join(programs, 'initdb'),
      ['--pgdata', join(folder, 'data'), '--username=tidegate', '--no-sync', '--encoding=UTF8', '--locale=C'].concat(
        authentication,
      ),
      { ...server.#user, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] },
    )
    return server
  }

  /** Writes a file into its folder that only the server may read. */
  addFile(name: string, content: string): string {
    const path = join(this.folder, name)
    writeFileSync(path, content, { mode: 0o600 })
    if (this.#user !== undefined) chownSync(path, this.#user.uid, this.#user.gid)
    return path
  }

  /** Starts it, and waits until it accepts connections. `settings` apply to this start only. */
  async start(ofThisStart: ServerOptions['settings'] = {}): Promise<void> {
    const settings = {
      listen_addresses: '',
      port: PORT,
      unix_socket_directories: this.folder,
      fsync: 'off',
      full_page_writes: 'off',
      shared_buffers: '32MB',
      max_connections: 200,
      ...this.#settings,
      ...ofThisStart,
    }
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const command = [
      '-c',
      SHELL_SCRIPT,
      'sh',
      join(this.#programs, 'postgres'),
      '-D',
      join(this.folder, 'data'),
      ...args,
    ]
    const shell = spawn('/bin/sh', command, {
      ...this.#user,
      cwd: this.folder,
      env: { ...process.env, FOLDER: this.folder },
      // Its own process group: an interrupt from the terminal is for the tests, which end the server.
      detached: true,
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const [line] = (await once(shell.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
    this.#shell = shell
    this.#pid = Number(line.toString().trim())
    await this.#ready(Number(settings.port))
  }

  /** Creates a new, empty database. Returns its address. */
  createDatabase(): Promise<string> {
    return createDatabase(this.folder, { password: this.#password })
  }

  /** Creates the database that `migratedDatabase` copies. Returns its address. */
  createSchemaTemplate(): Promise<string> {
    return createDatabase(this.folder, { name: SCHEMA_TEMPLATE })
  }

  /**
   * Shuts the server down as an administrator would: fast, or immediate. Resolves when it has ended. It can be started
   * again.
   */
  async stop(how: 'fast' | 'immediate'): Promise<void> {
    await this.#end(`${how === 'fast' ? 'INT' : 'QUIT'}\n`)
  }

  /** Suspends the server and all its processes. */
  freeze(): void {
    // The postmaster first, so that it starts no new process that would not be suspended.
    process.kill(this.#pid, 'SIGSTOP')
    for (const pid of this.#sessions()) signalIfThere(pid, 'SIGSTOP')
  }

  thaw(): void {
    for (const pid of this.#sessions()) signalIfThere(pid, 'SIGCONT')
    process.kill(this.#pid, 'SIGCONT')
  }

  /** Ends it and removes everything. */
  async remove(): Promise<void> {
    await this.#end('')
    rmSync(this.folder, { recursive: true, force: true })
  }

  async #end(lastWords: string): Promise<void> {
    const shell = this.#shell
    if (shell === undefined) return
    this.#shell = undefined
    const ended = once(shell, 'exit')
    shell.stdin?.end(lastWords)
    await ended
  }

  async #ready(port: number): Promise<void> {
    const end = performance.now() + READY_MILLISECONDS_MAX
    for (;;) {
      try {
        await withClient(addressOf(this.folder, 'postgres', this.#password, port), () => Promise.resolve())
        return
      } catch (error) {
        if (performance.now() > end) throw error
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }

  /** The backends, and the server's other processes. */
  #sessions(): number[] {
    const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(this.#pid)], { encoding: 'utf8' })
    return children.trim().split(/\s+/).filter(Boolean).map(Number)
  }
}

/** A process may have ended since it was listed. */
function signalIfThere(pid: number, signal: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Ends the server on a line from the pipe, or when the pipe ends with the process that holds it. */
const SHELL_SCRIPT = `
  "$@" >>"$FOLDER/log" 2>&1 </dev/null & server=$!
  echo "$server"
  if read -r signal; then kill -"$signal" "$server"; wait "$server"; exit 0; fi
  kill -CONT "$server"; kill -QUIT "$server"; wait "$server"; rm -rf "$FOLDER"`

/** The user to run the server as: PostgreSQL refuses to run as root. */
function otherUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? []
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) }
  }
  throw new Error('PostgreSQL does not run as root, and there is no user to run it as')
}
