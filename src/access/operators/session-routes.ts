/**
 * The calls with which people sign in and out: login, setup links, session. Calls before the login need no credentials,
 * and are registered outside the guard. A cross-origin page cannot call them: the listener rejects its `Origin`.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import {
  mayCall,
  OPERATOR_CALLS,
  OPERATOR_PREFIX,
  OPERATOR_ROLES,
  type OperatorCallId,
  type OperatorRole,
} from '../../contract/operator-calls.ts'
import { Problem } from '../../platform/http/problem.ts'
import { textChoice } from '../../platform/http/text-choice.ts'
import type { Db } from '../../platform/store/db.ts'
import { type CallingOperator, operatorOf } from '../clients/operator-calls.ts'
import { type Access, type PasswordLogin, unavailableReason } from './access.ts'
import { type ChannelOptions, channelOf } from './channel.ts'
import { knownBrowserCookie, removedCookie, sessionCookie } from './cookies.ts'
import type { FourEyesOptions } from './four-eyes.ts'
import { LOGIN_REFUSALS, type OpenidLogin, readRefusal } from './openid-login.ts'
import { OPENID_PATH } from './openid-routes.ts'
import { OperatorName } from './operator-routes.ts'
import { endSession, IDLE_MILLISECONDS } from './sessions.ts'
import { hasAdmin } from './setup-links.ts'
import { base32, totpAddress } from './totp.ts'

export interface SessionRoutesOptions extends Pick<FourEyesOptions, 'fourEyes'> {
  readonly db: Db
  readonly access: Access
  readonly channel: ChannelOptions
  /** Absent: no outside issuer is configured. */
  readonly openid?: OpenidLogin
}

const PASSWORD_CHARACTERS_MIN = 12
const PASSWORD_CHARACTERS_MAX = 200

const strict = { additionalProperties: false }
const Code = Type.String({ pattern: '^[0-9]{6}$', maxLength: 6, description: 'The authenticator app’s code' })
const LinkToken = Type.String({ minLength: 1, maxLength: 200 })
const NewPassword = Type.String({ minLength: PASSWORD_CHARACTERS_MIN, maxLength: PASSWORD_CHARACTERS_MAX })
const ownMembers = { password: Type.String({ minLength: 1, maxLength: PASSWORD_CHARACTERS_MAX }), totp: Code }
const Login = Type.Object({ name: Type.String({ minLength: 1, maxLength: 64 }), ...ownMembers }, strict)
const OwnLogin = Type.Object(ownMembers, strict)
const PasswordChange = Type.Object({ ...ownMembers, new_password: NewPassword }, strict)
const Setup = Type.Object(
  { token: LinkToken, name: Type.Optional(OperatorName), password: Type.Optional(NewPassword) },
  strict,
)
const SetupConfirmation = Type.Object({ token: LinkToken, totp: Code }, strict)

const Role = textChoice(OPERATOR_ROLES)
const time = Type.String({ format: 'date-time' })
const LoginWays = Type.Object({
  password: Type.Boolean({ description: 'Whether a password would be accepted over this connection' }),
  password_reason: Type.Optional(Type.String({ description: 'Why not' })),
  openid: Type.Optional(
    Type.Object(
      {
        start: Type.String({ description: 'The address where a login begins: a page to open, with `return`' }),
        label: Type.String({ description: 'The issuer’s host' }),
        refusal: Type.Optional(
          Type.Object(
            {
              reason: textChoice(LOGIN_REFUSALS),
              subject: Type.Optional(Type.String({ description: 'The person’s own id at the issuer' })),
            },
            { description: 'Why this browser’s login, a moment ago, did not succeed' },
          ),
        ),
      },
      { description: 'Only with an outside issuer' },
    ),
  ),
  needs_setup: Type.Boolean({ description: 'Whether no admin can sign in yet' }),
})
const Session = Type.Object(
  {
    operator: Type.Object({ name: Type.String(), role: Role }),
    via: textChoice(['session', 'api_token', 'operator_token']),
    allows: Type.Array(Type.String(), { description: 'Method and path of every call the role may make' }),
    four_eyes: Type.Array(Type.String(), { description: 'The setting `operator.four_eyes`' }),
    has_password: Type.Optional(
      Type.Boolean({
        description: 'Only for a session: whether the person signs in with a password, and may change it',
      }),
    ),
    csrf_token: Type.Optional(
      Type.String({
        description: 'Only for a session: the value for `X-CSRF-Token`, which every call with the cookie needs',
      }),
    ),
    expires_at: Type.Optional(time),
    idle_seconds: Type.Optional(
      Type.Integer({ description: 'Only for a session: it ends after this time without a request' }),
    ),
    failed_logins: Type.Optional(
      Type.Object(
        { count: Type.Integer(), last_at: time },
        { description: 'Only for a session: failed attempts with this name between this login and the previous one' },
      ),
    ),
  },
  { title: 'Session' },
)
const totpMembers = { secret: Type.String({ description: 'In base 32' }), uri: Type.String() }
const SetupAnswer = Type.Object({
  name: Type.Optional(Type.String({ description: 'Absent for the first admin, who chooses one' })),
  role: Role,
  expires_at: Type.Optional(
    Type.String({ format: 'date-time', description: 'Without a password: when the link ends' }),
  ),
  totp: Type.Optional(
    Type.Object(totpMembers, {
      description: 'With a password: the one-time codes’ secret, also as an address for authenticator apps',
    }),
  ),
})
const SignedOut = Type.Object(
  {
    issuer_logout: Type.Optional(
      Type.String({
        description: 'Only for a person from an issuer with such a page: the page that signs out there too',
      }),
    ),
  },
  { title: 'SignedOut' },
)
const PasswordChanged = Type.Object({
  ended_sessions: Type.Integer({ description: 'The person’s other sessions, which have ended' }),
})
const NewAuthenticator = Type.Object({
  token: Type.String({
    description: 'For `POST /setup/confirm` with the first code. Until then, the old one is valid',
  }),
  expires_at: time,
  totp: Type.Object(totpMembers, { description: 'The new one-time codes’ secret' }),
})

/** Declares the calls without credentials, relative to `/admin/v1`. */
export function registerLoginRoutes(
  app: FastifyInstance,
  { db, access, channel, openid, fourEyes }: SessionRoutesOptions,
): void {
  app.get('/login', { schema: { response: { 200: LoginWays } } }, async ({ raw }) => {
    const password_reason = unavailableReason(raw, channel)
    return {
      password: password_reason === undefined,
      ...(password_reason === undefined ? {} : { password_reason }),
      ...(openid === undefined ? {} : { openid: openidWay(openid, raw.headers.cookie) }),
      needs_setup: !(await hasAdmin(db.tables())),
    }
  })
  const answer = (request: FastifyRequest, reply: FastifyReply, { session, knownBrowser }: PasswordLogin) => {
    const by = cookieChannel(request, channel)
    const { name } = session.operator
    reply.header('set-cookie', [sessionCookie(by, session.secret), knownBrowserCookie(by, name, knownBrowser)])
    const members = sessionMembers({ ...session, hasPassword: true })
    return { ...documentOf(session.operator), four_eyes: fourEyes(), ...members }
  }
  app.post<{ Body: Static<typeof Login> }>(
    '/session',
    { schema: { body: Login, response: { 200: Session } } },
    async (request, reply) => answer(request, reply, await access.logIn(request, request.body)),
  )
  app.post<{ Body: Static<typeof Setup> }>(
    '/setup',
    { schema: { body: Setup, response: { 200: SetupAnswer } } },
    async (request) => {
      const { token, password } = request.body
      if (password === undefined) {
        const { name, role, expiresAt } = await access.readLink(request, token)
        return { ...(name === undefined ? {} : { name }), role, expires_at: expiresAt }
      }
      const { name, role, secret } = await access.enterPassword(request, { ...request.body, password })
      return { name, role, totp: totpOf(secret, name) }
    },
  )
  app.post<{ Body: Static<typeof SetupConfirmation> }>(
    '/setup/confirm',
    { schema: { body: SetupConfirmation, response: { 200: Session } } },
    async (request, reply) =>
      answer(request, reply, await access.confirmLink(request, request.body.token, request.body.totp)),
  )
}

/** Declares the calls about the caller's own session, which the guard precedes. */
export function registerSessionRoutes(
  app: FastifyInstance,
  { db, access, channel, openid, fourEyes }: SessionRoutesOptions,
): void {
  app.get('/session', { schema: { response: { 200: Session } } }, async (request) => {
    const { name, role, via, session } = operatorOf(request)
    return {
      ...documentOf({ name, role }, via),
      four_eyes: fourEyes(),
      ...(session === undefined ? {} : sessionMembers(session)),
    }
  })
  app.post<{ Body: Static<typeof PasswordChange> }>(
    '/session/password',
    { schema: { body: PasswordChange, response: { 200: PasswordChanged } } },
    async (request, reply) => {
      const { new_password, ...entered } = request.body
      const own = ownLogin(request, entered)
      const { endedSessions, knownBrowser } = await access.changePassword(request, own, new_password)
      reply.header('set-cookie', knownBrowserCookie(cookieChannel(request, channel), own.name, knownBrowser))
      return { ended_sessions: endedSessions }
    },
  )
  app.post<{ Body: Static<typeof OwnLogin> }>(
    '/session/authenticator',
    { schema: { body: OwnLogin, response: { 200: NewAuthenticator } } },
    async (request) => {
      const own = ownLogin(request, request.body)
      const { token, expiresAt, secret } = await access.beginAuthenticator(request, own)
      return { token, expires_at: expiresAt, totp: totpOf(secret, own.name) }
    },
  )
  app.delete('/session', { schema: { response: { 200: SignedOut } } }, async (request, reply) => {
    const { session } = operatorOf(request)
    if (session === undefined) return {}
    await endSession(db, session.secret)
    reply.header('set-cookie', removedCookie(cookieChannel(request, channel)))
    // Who signs in without a password has signed in at the issuer.
    const address = session.hasPassword ? undefined : await openid?.logoutAddress()
    return address === undefined ? {} : { issuer_logout: address }
  })
}

function totpOf(secret: Buffer, name: string) {
  return { secret: base32(secret), uri: totpAddress(secret, name) }
}

function openidWay({ issuer, publicUrl }: OpenidLogin, cookie: string | undefined) {
  const refusal = readRefusal(cookie)
  const start = publicUrl + OPERATOR_PREFIX + OPENID_PATH
  return { start, label: new URL(issuer).host, ...(refusal === undefined ? {} : { refusal }) }
}

function documentOf(operator: { readonly name: string; readonly role: OperatorRole }, via = 'session') {
  return { operator, via, allows: callsOf(operator.role) }
}

function sessionMembers({ csrfToken, expiresAt, hasPassword, failedLogins }: NonNullable<CallingOperator['session']>) {
  const ends = { expires_at: expiresAt, idle_seconds: IDLE_MILLISECONDS / 1000 }
  const failed = failedLogins === undefined ? {} : { failed_logins: failedLogins }
  return { has_password: hasPassword, csrf_token: csrfToken, ...ends, ...failed }
}

/** The person who enters the own password again. */
function ownLogin(request: FastifyRequest, entered: Static<typeof OwnLogin>) {
  const { name, session } = operatorOf(request)
  if (session?.hasPassword) return { ...entered, name, sessionSecret: session.secret }
  const detail = 'only a person who is signed in, and signs in with a password, can change this'
  throw new Problem('invalid_state', detail, {
    meta: { current: session === undefined ? 'no_session' : 'no_password' },
  })
}

/** Method and path for every call that a role may make. */
function callsOf(role: OperatorRole): readonly string[] {
  return Object.keys(OPERATOR_CALLS).filter((call) => mayCall(role, call as OperatorCallId))
}

/** A session exists only over one of the two. */
function cookieChannel({ raw }: FastifyRequest, options: ChannelOptions): 'encrypted' | 'local' {
  return channelOf(raw, options) === 'encrypted' ? 'encrypted' : 'local'
}
