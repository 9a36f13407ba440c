/**
 * A throw-away PostgreSQL for tests: a cluster in a temporary folder, on a Unix socket in it and nowhere else, run as
 * another user when we are root. It ends, and its folder with it, with the process that started it, however that ends:
 * a shell beside it waits for the end of a pipe. Suites that need one skip by name where there are no server programs.
 *
 * One server serves a whole run of the tests (`sharedDatabase`); a test that stops or stalls it starts its own.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { inject } from 'vitest'
import { findPostgresPrograms } from './postgres-programs.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the process that runs the tests answers with the address of the shared server. */
    postgresDoor: string
  }
}

/** Part of the name of the socket, and nothing else where it listens to no address. */
const PORT = 5_432
const READY_MILLISECONDS_MAX = 60_000

/** For `describe.skipIf`: the title says why. */
export const hasPostgres = findPostgresPrograms() !== undefined

/** Address of a new, empty database on the server that all test files share. */
export async function sharedDatabase(): Promise<string> {
  const socket = createConnection(inject('postgresDoor'))
  socket.setEncoding('utf8')
  let answer = ''
  for await (const chunk of socket) answer += chunk
  const { folder, problem } = JSON.parse(answer) as { folder?: string; problem?: string }
  if (folder === undefined) throw new Error(problem)
  return await createDatabase(folder)
}

async function createDatabase(folder: string, password?: string): Promise<string> {
  const name = `test_${randomBytes(8).toString('hex')}`
  await withClient(addressOf(folder, 'postgres', password), (client) => client.query(`create database ${name}`))
  return addressOf(folder, name, password)
}

function addressOf(folder: string, database: string, password?: string, port = PORT): string {
  const user = password === undefined ? 'tidegate' : `tidegate:${password}`
  return `postgres://${user}@/${database}?host=${encodeURIComponent(folder)}&port=${port}`
}

/** A session of its own beside the service's, to look at the server and to disturb it. */
export async function withClient<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url })
  // A server that is stopped ends the session too; who waits for an answer hears of it there.
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

export interface ServerOptions {
  /** How the server knows who connects: `trust`, or `scram-sha-256` with the password of the user `tidegate`. */
  readonly password?: string
  /** Settings of postgresql.conf on the command line. */
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

  /** A new cluster; not started yet. */
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
      // Whatever the umask is, which a service that ran in this process has changed.
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

  /** Puts a file into its folder that only the server may read. */
  addFile(name: string, content: string): string {
    const path = join(this.folder, name)
    writeFileSync(path, content, { mode: 0o600 })
    if (this.#user !== undefined) chownSync(path, this.#user.uid, this.#user.gid)
    return path
  }

  /** Starts it, and waits until it takes connections. `settings` are those of this start alone. */
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
      // Its own session: an interrupt from the terminal is for the tests, and they end the server.
      detached: true,
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const [line] = (await once(shell.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
    this.#shell = shell
    this.#pid = Number(line.toString().trim())
    await this.#ready(Number(settings.port))
  }

  /** A new, empty database; its address. */
  createDatabase(): Promise<string> {
    return createDatabase(this.folder, this.#password)
  }

  /** As an administrator would: in order, or at once. Resolves when it has ended; it can be started again. */
  async stop(how: 'fast' | 'immediate'): Promise<void> {
    await this.#end(`${how === 'fast' ? 'INT' : 'QUIT'}\n`)
  }

  /** The server and every session of it stand still. */
  freeze(): void {
    // First the one that starts sessions, so that none comes that is not stopped.
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

  /** Sessions, and what the server runs beside them. */
  #sessions(): number[] {
    const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(this.#pid)], { encoding: 'utf8' })
    return children.trim().split(/\s+/).filter(Boolean).map(Number)
  }
}

/** One may have ended by itself since it was listed. */
function signalIfThere(pid: number, signal: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Ends the server as the line says that it reads, or with the pipe, which ends with the process that holds it. */
const SHELL_SCRIPT = `
  "$@" >>"$FOLDER/log" 2>&1 </dev/null & server=$!
  echo "$server"
  if read -r signal; then kill -"$signal" "$server"; wait "$server"; exit 0; fi
  kill -CONT "$server"; kill -QUIT "$server"; wait "$server"; rm -rf "$FOLDER"`

/** The server refuses to run as root. */
function otherUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? []
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) }
  }
  throw new Error('PostgreSQL does not run as root, and there is no user postgres or nobody to run it as')
}
