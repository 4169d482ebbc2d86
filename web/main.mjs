import { effect } from '@preact/signals';
import { render } from 'preact';
import { clock } from './format.mjs';
import { html } from './html.mjs';
import { onKey } from './keys.mjs';
import { startNotifying } from './notify.mjs';
import { Dialogs, help } from './parts/dialog.mjs';
import { onClick, path, shownAgent } from './router.mjs';
import { Agent } from './screens/agent.mjs';
import { Audit } from './screens/audit.mjs';
import { Council } from './screens/council.mjs';
import { Now } from './screens/now.mjs';
import { SignIn } from './screens/sign-in.mjs';
import { Spend } from './screens/spend.mjs';
import { Squads } from './screens/squads.mjs';
import { Workers } from './screens/workers.mjs';
import { hasCode, signIn } from './session.mjs';
import { about, connection, message, needsCount, signedOut } from './store.mjs';
import { startStream } from './stream.mjs';
import { nextTheme, theme } from './theme.mjs';

const screens = [
  { path: '/', name: 'Now', Screen: Now },
  { path: '/squads', name: 'Squads', Screen: Squads },
  { path: '/council', name: 'Council', Screen: Council },
  { path: '/workers', name: 'Workers', Screen: Workers },
  { path: '/audit', name: 'Audit', Screen: Audit },
  { path: '/spend', name: 'Spend', Screen: Spend }
];

function Page() {
  if (!about.value) return html`<${SignIn} />`;
  return html`
    <a class="skip" href="#main">Skip to the content</a>
    <div class="page">
      <${Side} />
      <div class="body">
        <${NotLive} />
        <main id="main" tabindex="-1"><${Screen} /></main>
      </div>
    </div>
    <${Message} />
    <${Dialogs} />`;
}

function Screen() {
  const id = shownAgent.value;
  if (id !== undefined) return html`<${Agent} key=${id} id=${id} />`;
  const found = screens.find((screen) => screen.path === path.value);
  return found
    ? html`<${found.Screen} />`
    : html`<h1>There is no such page.</h1>`;
}

function Side() {
  const { workspace, version, scope } = about.value;
  const name = workspace.split('/').at(-1) || workspace;
  const count = needsCount.value;
  return html`
    <header class="side">
      <div class="brand">
        <span class="word">troupe</span>
        <span class="workspace" title=${workspace}>${name}</span>
      </div>
      <nav aria-label="Screens">
        <ul>${screens.map((screen) => {
          const isHere =
            screen.path === path.value ||
            (screen.path === '/' && shownAgent.value !== undefined);
          return html`<li><a href=${screen.path} aria-current=${isHere ? 'page' : undefined}>${screen.name}${screen.path === '/' && count > 0 ? html`<span class="badge" aria-label=${`${count} need you`}>${count}</span>` : null}</a></li>`;
        })}</ul>
      </nav>
      <div class="foot">
        <${Connection} />
        ${scope === 'look' ? html`<span class="scope">Looking only</span>` : null}
        <div class="foot-buttons">
          <button class="plain" onClick=${nextTheme} title="Theme (t)">Theme: ${theme.value}</button>
          <button class="plain" onClick=${help} title="Keyboard (?)">Keys</button>
        </div>
        <span class="version">${version}</span>
      </div>
    </header>`;
}

function Connection() {
  const { state } = connection.value;
  return html`<span class=${`live is-${state}`} role="status"><i aria-hidden="true"></i>${state === 'live' ? 'Live' : 'Not live'}</span>`;
}

/** Old data stays, and says that it is old. */
function NotLive() {
  const { state, since } = connection.value;
  if (state === 'live' || (since === 0 && !signedOut.value)) return null;
  const when = since === 0 ? '' : ` since ${clock(since)}`;
  return html`
    <p class="not-live" role="alert">
      <strong>Not live${when}.</strong>
      ${
        signedOut.value
          ? html` The server was started again. Open a new link: <code>troupe web --link act</code>`
          : ' The server does not answer; this page tries again. Is troupe web still running?'
      }
    </p>`;
}

function Message() {
  const { text, isError } = message.value;
  return html`<div class=${`message${isError ? ' is-error' : ''}`} role="status" hidden=${text === ''}>
    ${text} <button class="plain" onClick=${() => {
      message.value = { text: '', isError: false };
    }}>Dismiss</button>
  </div>`;
}

effect(() => {
  if (shownAgent.value !== undefined || !about.value) return;
  const count = needsCount.value;
  const name = about.value.workspace.split('/').at(-1);
  document.title = `${count > 0 ? `(${count}) ` : ''}troupe – ${name}`;
});

document.addEventListener('click', onClick);
document.addEventListener('keydown', onKey);
addEventListener('hashchange', () => {
  if (hasCode()) void signIn();
});
render(html`<${Page} />`, document.getElementById('page'));
await signIn();
startStream();
startNotifying();
