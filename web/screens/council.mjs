import { useMemo, useState } from 'preact/hooks';
import { draftOf, retarget } from '../drafts.mjs';
import { counted, moment } from '../format.mjs';
import { html } from '../html.mjs';
import { blocksOf, Markdown } from '../markdown.mjs';
import { Ago } from '../parts/age.mjs';
import { Empty, Loading } from '../parts/empty.mjs';
import { useBusy, useData } from '../parts/load.mjs';
import { PromptForm } from '../parts/prompt-form.mjs';
import { Status } from '../parts/status.mjs';
import { mayAct, perform, send } from '../session.mjs';
import { totals } from '../store.mjs';

export function Council() {
  const { data, error } = useData(
    '/web/council',
    totals.value?.value.stamps.council
  );
  if (!data) return html`<${Head} /><${Loading} error=${error} />`;
  if (!data.session)
    return html`<${Head} /><${Empty} title="No council has been started."><p>A client opens one with the tool <code>start_council</code>; every agent can then join it.</p><//>`;
  const { session, request, responses } = data;
  const isOpen = session.status === 'active' && mayAct();
  return html`
    <${Head}>
      <${Status} of=${session.status} /> <span>since ${moment(session.created_at)}</span>
      <span>${counted(data.responses_total, 'response')}</span>
    <//>
    ${session.conclusion ? html`<section aria-labelledby="conclusion"><h2 id="conclusion">Conclusion <span class="count">by ${session.conclusion.author}</span></h2><${Text} of=${session.conclusion} /></section>` : null}
    <section aria-labelledby="request">
      <h2 id="request">Request <span class="count">by ${request.created_by}, <${Ago} at=${request.created_at} /></span></h2>
      <${Text} of=${request} />
    </section>
    <${Attendance} data=${data} isOpen=${isOpen} />
    <section aria-labelledby="responses">
      <h2 id="responses">Responses</h2>
      ${responses.length === 0 ? html`<p class="note">No agent has responded yet.</p>` : null}
      <div class="responses">
        ${responses.map(
          (response) => html`
          <article key=${response.id} class="response" aria-label=${`Response of ${response.author}`}>
            <header><span><span class="who">${response.author}</span>${response.by === 'person' ? html` <small>in the page</small>` : null}</span> <span class="when"><${Ago} at=${response.created_at} /></span></header>
            <${Text} of=${response} />
          </article>`
        )}
      </div>
    </section>
    ${mayAct() ? html`<${Respond} session=${session} isOpen=${isOpen} />` : null}`;
}

/** A text is for the council that was shown when it was begun. */
function Respond({ session: { id }, isOpen }) {
  const draft = draftOf('council');
  const isEmpty = draft.text.value === '';
  if (!isOpen && isEmpty) return null;
  const isForOther = !isEmpty && draft.target.value !== id;
  const submit = (content, requestId) =>
    perform(
      () =>
        send('/web/council/respond', {
          session_id: id,
          content,
          request_id: requestId
        }),
      ({ agent_name: name }) => `Your response is there, as of "${name}".`
    );
  return html`
    <section aria-labelledby="respond">
      <h2 id="respond">Respond</h2>
      <${PromptForm} draft="council" target=${id} placeholder="Your response" button="Respond" submit=${submit}
        note="Agents see that a person wrote it."
        refusal=${isForOther ? 'Another council was started.' : isOpen ? undefined : 'The council was closed.'}
        kept=${isForOther && isOpen ? 'Your text is kept: copy it, or use it there.' : undefined}>
        ${isForOther && isOpen ? html`<button type="button" class="button" onClick=${() => retarget(draft, id)}>Use it there</button>` : null}
      <//>
    </section>`;
}

function Summon({ session, engines }) {
  const [engine, setEngine] = useState(engines[0]);
  const [model, setModel] = useState('');
  const [isBusy, run] = useBusy();
  const submit = (event) => {
    event.preventDefault();
    const named = model.trim() === '' ? {} : { model: model.trim() };
    const body = { session_id: session.id, engine, ...named };
    void run(() =>
      perform(
        () => send('/web/council/summon', body),
        ({ agent_id: id, agent_name: name, error }) =>
          error ?? `${id} will respond as ${name}.`
      )
    );
  };
  return html`
    <form class="summon" onSubmit=${submit}>
      <select aria-label="Engine" value=${engine} onChange=${({ target }) => setEngine(target.value)}>
        ${engines.map((name) => html`<option>${name}</option>`)}
      </select>
      <input aria-label="Model" placeholder="Model (optional)" maxlength="200" value=${model} onInput=${({ target }) => setModel(target.value)} />
      <button class="button" disabled=${isBusy}>Summon</button>
      <span class="note">It responds once, and only reads.</span>
    </form>`;
}

function Head({ children }) {
  return html`<header class="top"><div><h1>Council</h1><p class="summary">${children}</p></div></header>`;
}

function Text({ of: { content, content_chars: chars } }) {
  const blocks = useMemo(() => blocksOf(content), [content]);
  return html`<${Markdown} blocks=${blocks} />${chars > content.length ? html`<p class="note">The rest of ${counted(chars, 'character')} is left out.</p>` : null}`;
}

function Attendance({ data, isOpen }) {
  const { session, summons, engines } = data;
  const participants = data.participants.filter(
    ({ agent_name: name }) => !summons.some((one) => one.agent_name === name)
  );
  return html`
    <section aria-labelledby="attendance">
      <h2 id="attendance">Participants</h2>
      <ul class="chips">
        ${participants.map((one) => html`<li>${one.agent_name} <small>${one.responses > 0 ? counted(one.responses, 'response') : one.has_request ? 'has read the request' : 'has not read the request'}</small></li>`)}
        ${summons.map((one) => html`<li>${one.agent_name} <${Status} of=${one.status} /> <a href=${`/agents/${one.agent_id}`}>${one.agent_id}</a></li>`)}
      </ul>
      ${isOpen && engines.length > 0 ? html`<${Summon} session=${session} engines=${engines} />` : null}
    </section>`;
}
