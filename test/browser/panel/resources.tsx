import {
  type RaRecord,
  Resource,
  useDataProvider,
  useNotify,
  useRecordContext,
  useRefresh,
  useResourceContext,
} from "ra-core";
import type { PanelData } from "./data-provider.ts";
import { Checkbox, Choices, Elements, LongText, Select, Text } from "./inputs.tsx";
import { Filter, List } from "./list.tsx";
import { Create, Edit, Show } from "./pages.tsx";

const clients = { 1: "First website", 2: "Second website" };
const lockedBy = (lock: { username: string } | null | undefined) => lock && <em>{lock.username} is editing this</em>;

export const contributors = (
  <Resource
    name="contributors"
    list={
      <List
        title="Contributors"
        filter={{ client: 1 }}
        filters={<Filter source="client" label="Website" choices={clients} />}
        name={({ first_name, last_name }) => `${first_name} ${last_name}`.trim()}
        row={({ locked_by }) => lockedBy(locked_by)}
      />
    }
    create={
      <Create>
        <Text source="first_name" label="First name" />
        <Text source="last_name" label="Last name" />
        <Select source="client" label="Shown on" choices={{ "": "All websites", ...clients }} />
      </Create>
    }
    edit={
      <Edit actions={<Picture field="image" />}>
        <Text source="first_name" label="First name" />
        <Text source="last_name" label="Last name" />
        <Text source="gender" label="Gender" />
        <Text source="type" label="Type" />
        <Checkbox source="public" label="Published" />
        <Elements source="links" label="Links" empty={{ url: "" }}>
          <Text source="url" label="Address" type="url" />
        </Elements>
        <Elements source="aliases" label="Also known as" empty={{ name: "" }}>
          <Text source="name" label="Other name" />
        </Elements>
        <Elements source="descriptions" label="Descriptions" empty={{ description: "", language: "", source: "" }}>
          <LongText source="description" label="Description" />
          <Text source="language" label="Language" />
          <Text source="source" label="Source" />
        </Elements>
        <Elements source="relations" label="Relations" empty={{ relation_id: "", relation_type: "" }}>
          <Text source="relation_id" label="Id of the other" type="number" />
          <Text source="relation_type" label="Is their" />
        </Elements>
      </Edit>
    }
    show={<Show />}
  />
);

export const users = (
  <Resource
    name="users"
    list={
      <List
        title="Users"
        name={({ username }) => username}
        row={({ lock, roles }) => (
          <>
            {roles.map((role: RaRecord) => role.name).join(", ")} {lockedBy(lock)}
          </>
        )}
      />
    }
    edit={
      <Edit
        actions={
          <>
            <Picture field="profile_image" />
            <LogOut />
          </>
        }
      >
        <Text source="username" label="User name" />
        <Checkbox source="age_verified" label="Age verified" />
        <Choices source="roles" label="Roles" resource="roles" />
      </Edit>
    }
    show={<Show />}
  />
);

const named = (
  <>
    <Text source="name" label="Name" />
    <LongText source="description" label="Description" />
  </>
);

export const roles = (
  <Resource
    name="roles"
    list={<List title="Roles" name={({ name }) => name} row={({ user_count }) => `${user_count} users`} />}
    create={<Create>{named}</Create>}
    edit={
      <Edit>
        {named}
        <Choices source="permissions" label="Permissions" resource="permissions" />
      </Edit>
    }
    show={<Show />}
  />
);

export const permissions = (
  <Resource
    name="permissions"
    list={<List title="Permissions" name={({ name }) => name} row={({ description }) => description} />}
    create={<Create>{named}</Create>}
    edit={<Edit>{named}</Edit>}
    show={<Show />}
  />
);

/** Does something with the record that is open, and says how it went. */
function useAction() {
  const provider = useDataProvider<PanelData>();
  const record = useRecordContext();
  const resource = useResourceContext() ?? "";
  const notify = useNotify();
  const refresh = useRefresh();
  return (done: string, act: (provider: PanelData, resource: string, id: number) => Promise<void>) =>
    act(provider, resource, Number(record?.id)).then(
      () => {
        notify(done);
        refresh();
      },
      (error: Error) => notify(error.message, { type: "error" }),
    );
}

function Picture({ field }: { readonly field: "image" | "profile_image" }) {
  const record = useRecordContext();
  const act = useAction();
  return (
    <fieldset>
      <legend>Image</legend>
      {record?.[field] && <img src={record[field]} alt="" width={128} />}
      <label>
        Choose
        <input
          type="file"
          accept="image/*"
          onChange={({ target: { files } }) => {
            const file = files?.[0];
            if (file) act("Image saved", (provider, resource, id) => provider.setImage(resource, id, file));
          }}
        />
      </label>
      {record?.[field] && (
        <button type="button" onClick={() => act("Image removed", (provider, ...of) => provider.removeImage(...of))}>
          Remove image
        </button>
      )}
    </fieldset>
  );
}

function LogOut() {
  const act = useAction();
  return (
    <button type="button" onClick={() => act("Logged out", (provider, _, id) => provider.logOut(id))}>
      Log out
    </button>
  );
}
