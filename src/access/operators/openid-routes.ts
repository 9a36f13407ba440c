/**
 * The two ends of a login at the outside issuer, which a browser opens as pages: it is sent to the issuer, and comes
 * back with a code. Both end with a redirection, to the issuer or to the console, and never to an address named by the
 * request.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { Problem } from '../../platform/http/problem.ts'
import { type ChannelOptions, channelOf } from './channel.ts'
import { loginCookie, sessionCookie } from './cookies.ts'
import { LOGIN_SECONDS_MAX, type LoginRefusal, type OpenidLogin, RETURN_PATH, refusalCookie } from './openid-login.ts'

export interface OpenidRoutesOptions {
  /** Absent: no issuer is configured. */
  readonly openid?: OpenidLogin
  readonly channel: ChannelOptions
}

/** Enough to read it, and to reload the page. */
const REFUSAL_SECONDS = 120

const Beginning = Type.Object(
  {
    return: Type.Optional(
      Type.String({ pattern: RETURN_PATH, description: 'Path of the console page to show afterwards' }),
    ),
  },
  { additionalProperties: false },
)
const redirection = (description: string) => ({ response: { 302: Type.Null({ description }) } })

/** Where a login begins, below `/admin/v1`. */
export const OPENID_PATH = '/login/openid'
export const OPENID_CALLBACK_PATH = `${OPENID_PATH}/callback`

/** Declares the routes, relative to the prefix in `app`. They need no credentials. */
export function registerOpenidRoutes(app: FastifyInstance, { openid, channel }: OpenidRoutesOptions): void {
  const required = ({ raw }: FastifyRequest): OpenidLogin => {
    if (openid === undefined) throw new Problem('not_found', 'no OpenID issuer is configured (operator.oidc.issuer)')
    if (channelOf(raw, channel) === 'encrypted') return openid
    throw new Problem('login_unavailable', 'this request did not arrive encrypted: open operator.public_url instead')
  }
  const toConsole = (reply: FastifyReply, login: OpenidLogin, path: string, cookies: string[]) =>
    reply.header('set-cookie', cookies).redirect(login.publicUrl + path, 302)
  const refuse = (reply: FastifyReply, login: OpenidLogin, refusal: LoginRefusal) =>
    toConsole(reply, login, '/console/', [loginCookie(refusalCookie(refusal), REFUSAL_SECONDS)])

  app.get<{ Querystring: Static<typeof Beginning> }>(
    OPENID_PATH,
    { schema: { querystring: Beginning, ...redirection('To the issuer, or to the login page with the reason') } },
    async (request, reply) => {
      const login = required(request)
      const begun = await login.begin(request.query.return ?? '/console/')
      if ('reason' in begun) return refuse(reply, login, begun)
      return reply.header('set-cookie', loginCookie(begun.cookie, LOGIN_SECONDS_MAX)).redirect(begun.address, 302)
    },
  )
  app.get(
    OPENID_CALLBACK_PATH,
    { schema: redirection('To the console: signed in, or to the login page with the reason') },
    async (request, reply) => {
      const login = required(request)
      const finished = await login.finish(request)
      if ('reason' in finished) return refuse(reply, login, finished)
      const { session, returnPath } = finished
      // The fragment is sent to no server, and the page removes it from its address.
      const path = `${returnPath}#session=${session.csrfToken}`
      return toConsole(reply, login, path, [sessionCookie('encrypted', session.secret), loginCookie('', 0)])
    },
  )
}
