import { html } from '../html.mjs';
import { signedOut } from '../store.mjs';

/** The page without a token. */
export function SignIn() {
  if (!signedOut.value)
    return html`<main class="sign-in"><p class="loading">Loading …</p></main>`;
  return html`
    <main class="sign-in">
      <h1>troupe</h1>
      ${signedOut.value.text ? html`<p class="problem" role="alert">${signedOut.value.text}</p>` : html`<p>This page opens with a link that works once. In a terminal, in the workspace:</p>`}
      <pre class="code">troupe web --link act</pre>
      <p class="note">It prints the link of a page that is running. <code>troupe web</code> starts one.</p>
    </main>`;
}
