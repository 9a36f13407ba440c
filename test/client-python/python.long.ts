/** The Python client over TLS while its tokens expire, and as pip installs it from its folder, without an index. */
import { execFileSync } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { newCertificate } from '../support/certificates.ts'
import { endExamples, pythonWith, startExample, titleWith } from '../support/foreign-programs.ts'
import { PYTHON_CLIENT, PYTHON_ENVIRONMENT, writeReadmeProgram } from '../support/python-client.ts'
import { market, startServiceInside, temporaryFolder } from '../support/running-service.ts'

const PYTHON = pythonWith('websockets')
/** Without an index pip needs these, which are not in every Python. */
const INSTALLER = pythonWith('websockets, setuptools, wheel')
const TOKEN_SECONDS = 2
const RUN_MILLISECONDS = 15_000

const folder = temporaryFolder()
afterAll(() => {
  endExamples()
  folder.remove()
})

it.skipIf(PYTHON.isSkipped)(
  titleWith('follows a book over TLS while tokens expire', PYTHON, 'websockets'),
  async () => {
    const { cert, key } = await newCertificate('localhost')
    const [certFile, keyFile] = [join(folder.path, 'certificate.pem'), join(folder.path, 'key.pem')]
    writeFileSync(certFile, cert)
    writeFileSync(keyFile, key, { mode: 0o600 })
    const service = await startServiceInside(folder.path, [market('BTC', 2, 50)], {
      'auth.token_seconds': TOKEN_SECONDS,
      'stream.token_expiry': 'close',
      'http.tls.cert_file': certFile,
      'http.tls.key_file': keyFile,
    })
    onTestFinished(() => service.stop())
    const { clientId: client_id, clientSecret: client_secret } = await service.operator.createClient()
    const credentials = { client_id, client_secret, auth_url: service.http, ws_url: service.ws }
    const credentialsPath = join(folder.path, 'client.json')
    writeFileSync(credentialsPath, JSON.stringify(credentials))
    const program = startExample(PYTHON.file, ['-u', writeReadmeProgram(folder.path)], {
      ...PYTHON_ENVIRONMENT,
      TIDEGATE_CREDENTIALS: credentialsPath,
      SSL_CERT_FILE: certFile,
    })
    const [from] = (await program.line(() => true)).split(' ')
    await sleep(RUN_MILLISECONDS)
    program.child.kill('SIGKILL')
    const { stdout, stderr } = await program.result
    expect(stderr).toBe('')
    const times = stdout.split('\n').flatMap((line) => Date.parse(line.split(' ')[0] ?? '') || [])
    // It follows the book for longer than several tokens live.
    expect((times.at(-1) ?? 0) - Date.parse(from ?? '')).toBeGreaterThan(4 * TOKEN_SECONDS * 1_000)
  },
)

it.skipIf(INSTALLER.isSkipped)(titleWith('is installed by pip', INSTALLER, 'setuptools and wheel'), () => {
  const copy = join(folder.path, 'copy')
  cpSync(PYTHON_CLIENT, copy, { recursive: true })
  const environment = join(folder.path, 'environment')
  execFileSync(INSTALLER.file, ['-m', 'venv', '--system-site-packages', environment])
  const bin = join(environment, 'bin')
  const options = ['--quiet', '--disable-pip-version-check', '--no-build-isolation', '--no-index']
  execFileSync(join(bin, 'pip'), ['install', ...options, copy])
  const check = 'import tidegate_client; print(tidegate_client.__file__)'
  const found = execFileSync(join(bin, 'python'), ['-I', '-c', check], { cwd: folder.path, encoding: 'utf8' })
  expect(found.startsWith(environment)).toBe(true)
})
