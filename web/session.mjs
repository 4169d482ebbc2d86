import { about, message, signedOut } from './store.mjs';

/** The token of this tab. Other tabs of the browser may hand it over. */
let token = sessionStorage.getItem('token') ?? '';

const channel =
  typeof BroadcastChannel === 'undefined'
    ? undefined
    : new BroadcastChannel('troupe session');

/** How long another tab may take to hand over its token. */
const handOverMs = 400;

const codeForm = /^#([\w-]{24})$/;

/** Whether the address holds a code to sign in with. */
export function hasCode() {
  return codeForm.test(location.hash);
}

/** An answer of the server other than 200. */
class ServerError extends Error {
  constructor(status, { code = '', message: text = '', hint = '' } = {}) {
    super(text || `The server answered ${status}.`);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}

channel?.addEventListener('message', ({ data }) => {
  if (data?.type === 'token wanted' && token !== '' && !signedOut.peek())
    channel.postMessage({ type: 'token', token });
  if (data?.type === 'token' && signedOut.peek() !== undefined)
    void signInWith(data.token);
});

/**
 * Signs in by the code of the address, by the token of this tab, or by that of
 * another tab. Takes the code out of the address at once.
 */
export async function signIn() {
  const [, code] = codeForm.exec(location.hash) ?? [];
  if (code !== undefined) {
    history.replaceState(null, '', location.pathname + location.search);
    const problem = await exchange(code);
    if (problem === undefined || token === '') return problem;
  }
  if (token === '') token = (await tokenOfOthers()) ?? '';
  if (token === '') {
    signedOut.value = { text: '' };
    return undefined;
  }
  return signInWith(token);
}

async function exchange(code) {
  try {
    const login = await send('/web/login', { code }, false);
    await signInWith(login.token);
    channel?.postMessage({ type: 'token', token: login.token });
    return undefined;
  } catch (error) {
    if (token === '')
      signedOut.value = { text: `${error.message} ${error.hint ?? ''}` };
    return error;
  }
}

async function signInWith(newToken) {
  token = newToken;
  try {
    about.value = await get('/web/about');
    sessionStorage.setItem('token', token);
    signedOut.value = undefined;
  } catch (error) {
    if (error.status !== 401) throw error;
  }
}

function tokenOfOthers() {
  if (!channel) return undefined;
  return new Promise((resolve) => {
    const take = ({ data }) => {
      if (data?.type === 'token') finish(data.token);
    };
    const finish = (found) => {
      channel.removeEventListener('message', take);
      resolve(found);
    };
    channel.addEventListener('message', take);
    channel.postMessage({ type: 'token wanted' });
    setTimeout(finish, handOverMs);
  });
}

/** The server does not know the token: it was started again. */
export function noteSignedOut() {
  sessionStorage.removeItem('token');
  token = '';
  signedOut.value ??= { text: '' };
}

export function authorization() {
  return { Authorization: `Bearer ${token}` };
}

export function get(path) {
  return call(path, { headers: authorization() });
}

export function send(path, body = {}, hasToken = true) {
  return call(path, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      ...(hasToken ? authorization() : {})
    },
    body: JSON.stringify(body)
  });
}

async function call(path, options) {
  const response = await fetch(path, options).catch(unreachable);
  if (response.ok) return response.json().catch(unreachable);
  if (response.status === 401) noteSignedOut();
  const { error } = await response.json().catch(() => ({}));
  throw new ServerError(response.status, error);
}

function unreachable() {
  throw new ServerError(0, {
    message: 'The server cannot be reached.',
    hint: 'Is troupe web still running?'
  });
}

/**
 * Performs an action of the person, and reports how it went. An agent that
 * could not start has an `error` in the answer; what was done otherwise than
 * asked for is its `warning`.
 */
export async function perform(work, done) {
  try {
    const result = await work();
    const isError = Boolean(result?.error);
    const words = [done?.(result), result?.warning].filter(Boolean);
    message.value = { text: words.join(' '), isError };
    return result;
  } catch ({ message: text, hint = '' }) {
    message.value = { text: `${text} ${hint}`.trim(), isError: true };
    return undefined;
  }
}

const accesses = ['read', 'write', 'full'];

/** Whether the configuration allows less than this access. */
export function isAbove(access) {
  const ceiling = about.value?.max_access ?? 'full';
  return accesses.indexOf(access) > accesses.indexOf(ceiling);
}

/** What an agent of this access gets when it is started now. */
export function granted(access) {
  return isAbove(access)
    ? `${about.value.max_access} access (capped by maxAccess)`
    : `${access} access`;
}

export function mayAct() {
  return about.value?.scope === 'act';
}
