import type { Opened } from "colophon-client";
import {
  CanAccess,
  CreateBase,
  EditBase,
  Form,
  type HttpError,
  type RaRecord,
  ShowBase,
  useDataProvider,
  useDelete,
  useEditContext,
  useNotify,
  useRecordContext,
  useRedirect,
  useResourceContext,
} from "ra-core";
import { type ReactNode, useEffect, useState } from "react";
import { useFormContext } from "react-hook-form";
import { Link } from "react-router";
import type { PanelData } from "./data-provider.ts";

/** Opens a record, with its edit lock, and saves what the form has changed in it. */
export function Edit({ children, actions }: { readonly children: ReactNode; readonly actions?: ReactNode }) {
  const [current, setCurrent] = useState<Opened<RaRecord>>();
  const notify = useNotify();
  const redirect = useRedirect();
  const resource = useResourceContext();
  return (
    <EditBase
      mutationMode="pessimistic"
      // A list's records are not what an edit begins with: they lack fields and the version.
      queryOptions={{ meta: { locking: true }, gcTime: 0 }}
      mutationOptions={{
        meta: { locking: true },
        onSuccess: () => {
          notify("Saved");
          redirect("list", resource);
        },
        onError: (error) => {
          const { message, body } = error as HttpError;
          setCurrent(body?.current);
          if (!body?.errors && !body?.current) notify(message, { type: "error" });
        },
      }}
    >
      <Opening current={current} settle={() => setCurrent(undefined)} actions={actions}>
        {children}
      </Opening>
    </EditBase>
  );
}

/** A record that is read again, after a change of its image, leaves what is being edited. */
const resetOptions = { keepDirtyValues: true };

interface OpeningProps {
  readonly current: Opened<RaRecord> | undefined;
  readonly settle: () => void;
  readonly children: ReactNode;
  readonly actions: ReactNode;
}

function Opening({ current, settle, children, actions }: OpeningProps) {
  const { record, error, refetch } = useEditContext();
  const resource = useResourceContext() ?? "";
  useRelease(resource, record?.id);
  if (error) return <p role="alert">{error.message}</p>;
  if (!record) return <p>Opening …</p>;
  return (
    <>
      <Form resetOptions={resetOptions}>
        {children}
        {current && (
          <Conflict
            current={current}
            discard={() => {
              settle();
              refetch();
            }}
          />
        )}
        <button type="submit">Save</button> <Link to={`/${resource}`}>Cancel</Link>
      </Form>
      {actions}
      <CanAccess action="delete">
        <Delete />
      </CanAccess>
    </>
  );
}

/** Gives the edit lock back when the form is left, whichever way. */
function useRelease(resource: string, id: RaRecord["id"] | undefined) {
  const provider = useDataProvider<PanelData>();
  useEffect(() => {
    if (id === undefined) return;
    const release = () => void provider.release(resource, Number(id)).catch(() => {});
    window.addEventListener("pagehide", release);
    return () => {
      window.removeEventListener("pagehide", release);
      release();
    };
  }, [provider, resource, id]);
}

const shown = ["first_name", "last_name", "username", "name", "description", "gender", "type", "public"];

/** Somebody else has saved meanwhile: shows what is there now. */
function Conflict({ current, discard }: { readonly current: Opened<RaRecord>; readonly discard: () => void }) {
  const { save, record } = useEditContext();
  const { getValues, reset } = useFormContext();
  const other = shown.filter((name) => String(current.data[name]) !== String(record?.opened.data[name]));
  return (
    <section role="alert">
      <p>Somebody else has changed this meanwhile.</p>
      <ul>
        {other.map((name) => (
          <li key={name}>
            {name}: {String(current.data[name])}
          </li>
        ))}
      </ul>
      <button type="button" onClick={() => save?.(getValues(), { meta: { onto: current } })}>
        Save my changes, too
      </button>
      <button
        type="button"
        onClick={() => {
          reset();
          discard();
        }}
      >
        Show what is there now
      </button>
    </section>
  );
}

function Delete() {
  const record = useRecordContext();
  const resource = useResourceContext() ?? "";
  const notify = useNotify();
  const redirect = useRedirect();
  const [remove] = useDelete();
  const options = {
    onSuccess: () => {
      notify("Deleted");
      redirect("list", resource);
    },
    onError: (error: unknown) => notify((error as Error).message, { type: "error" }),
  };
  return (
    <button type="button" onClick={() => remove(resource, { id: record?.id ?? 0, previousData: record }, options)}>
      Delete
    </button>
  );
}

/** Adds a record and goes to it. */
export function Create({ children }: { readonly children: ReactNode }) {
  return (
    <CreateBase redirect="edit">
      <Form>
        {children}
        <button type="submit">Add</button>
      </Form>
    </CreateBase>
  );
}

/** Shows a record without taking its edit lock. */
export function Show() {
  return (
    <ShowBase>
      <Facts />
    </ShowBase>
  );
}

function Facts() {
  const { opened, ...facts } = useRecordContext() ?? { id: 0 };
  return (
    <dl>
      {Object.entries(facts).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{typeof value === "object" ? JSON.stringify(value) : String(value)}</dd>
        </div>
      ))}
    </dl>
  );
}
