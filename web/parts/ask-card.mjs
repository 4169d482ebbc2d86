import { useState } from 'preact/hooks';
import { clearDraft, draftOf, writeDraft } from '../drafts.mjs';
import { wholeDuration } from '../format.mjs';
import { html } from '../html.mjs';
import { get, isAbove, mayAct, perform, send } from '../session.mjs';
import { about, now, rowOf } from '../store.mjs';
import { Ago } from './age.mjs';
import { useBusy } from './load.mjs';

/** What an agent asks, whole, with the ways to answer it. */
export function AskCard({ id, hasLink = true }) {
  const ask = rowOf(id)?.value;
  if (!ask) return null;
  return html`<${Card} key=${id} ask=${ask} hasLink=${hasLink} />`;
}

function Card({ ask, hasLink }) {
  const { ask_id: id, agent_id: agent, ask_kind: kind } = ask;
  const [whole, setWhole] = useState(undefined);
  const isCut = ask.subject_chars > ask.subject.length && whole === undefined;
  const load = () =>
    perform(async () => setWhole((await get(`/web/asks/${id}`)).subject));
  const [isBusy, run] = useBusy();
  // The card stays until the stream says that the ask is gone.
  const [isAnswered, setAnswered] = useState(false);
  const answer = (body) =>
    run(async () => {
      const done = await perform(
        () => send(`/web/asks/${id}/answer`, body),
        () => `${id} is answered.`
      );
      if (done === undefined) return;
      setAnswered(true);
      const draft = draftOf(`answer ${id}`);
      clearDraft(draft, draft.text.peek());
    });
  return html`
    <article class="ask" aria-label=${`${ask.engine} ${agent} asks`} data-ask=${id}>
      <header>
        <span class="status is-asking"><i aria-hidden="true"></i>${kind === 'permission' ? 'asks for permission' : 'has a question'}</span>
        <span class="who">${ask.engine} ${hasLink ? html`<a href=${`/agents/${agent}`} data-row=${agent}>${agent}</a>` : agent}</span>
        <span class="when"><${Ago} at=${ask.asked_at} /> · <${Left} until=${ask.expires_at} /></span>
      </header>
      <p class="tool">${ask.tool}${kind === 'permission' ? html` <span class="needs">needs ${ask.needs} access</span>` : null}</p>
      <pre class="subject" tabindex="0" aria-label=${ask.subject_kind}>${whole ?? ask.subject}</pre>
      ${isCut ? html`<p><button class="button small" onClick=${load}>Show all ${ask.subject_chars.toLocaleString('en')} characters</button></p>` : null}
      ${ask.reason ? html`<p class="reason">${ask.reason}</p>` : null}
      ${mayAct() ? html`<${Answer} ask=${ask} isCut=${isCut} isBusy=${isBusy || isAnswered} answer=${answer} />` : html`<p class="note">This link is for looking only.</p>`}
    </article>`;
}

function Answer({ ask, isCut, isBusy, answer }) {
  const draft = draftOf(`answer ${ask.ask_id}`);
  const text = draft.text.value;
  const isPermission = ask.ask_kind === 'permission';
  const isTooMuch = isAbove(ask.needs);
  const onInput = ({ target }) => writeDraft(draft, target.value);
  if (!isPermission)
    return html`
      <form class="answer" onSubmit=${(event) => {
        event.preventDefault();
        if (text.trim() !== '' && !isBusy) void answer({ text });
      }}>
        ${(ask.options ?? []).map((option) => html`<button type="button" class="button" disabled=${isBusy} onClick=${() => answer({ text: option })}>${option}</button>`)}
        <input aria-label="Answer" placeholder="Answer" value=${text} onInput=${onInput} />
        <button class="button primary" disabled=${isBusy || text.trim() === ''}>Send</button>
      </form>`;
  const reason = text.trim() === '' ? {} : { text: text.trim() };
  return html`
    <div class="answer">
      <button class="button primary" disabled=${isBusy || isCut || isTooMuch} onClick=${() => answer({ decision: 'allow', ...reason })}>Allow</button>
      <button class="button" disabled=${isBusy} onClick=${() => answer({ decision: 'deny', ...reason })}>Deny</button>
      <input aria-label="Reason for the agent (optional)" placeholder="Reason for the agent (optional)" value=${text} onInput=${onInput} />
    </div>
    ${isTooMuch ? html`<p class="note">The configuration allows ${about.value.max_access} access, so that it can only be denied here.</p>` : null}
    ${isCut ? html`<p class="note">Show all of it to allow it.</p>` : null}`;
}

function Left({ until }) {
  const seconds = (Date.parse(until) - now.value) / 1000;
  return seconds > 0 ? `${wholeDuration(seconds)} left` : 'about to expire';
}
