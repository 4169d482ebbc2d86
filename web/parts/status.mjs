import { html } from '../html.mjs';

/** A state as text, with a colour beside it. */
export function Status({ of }) {
  return html`<span class=${`status is-${of}`}><i aria-hidden="true"></i>${of}</span>`;
}
