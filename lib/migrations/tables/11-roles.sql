insert into roles (name, description, is_default)
values ('Reader', 'What every user is without another role', 1);
