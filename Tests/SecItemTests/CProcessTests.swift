import TestSupport
import Testing

/// Programs that other libraries of their kind break: with another allocator, small stacks, forks amid calls.
@Suite struct CProcessTests {
    private let stage: CStage

    init() throws {
        stage = try CStage()
    }

    private static let headers = ["limits.h", "poll.h", "pthread.h", "stdlib.h", "sys/wait.h", "unistd.h"]

    /// A thread that adds, finds, reads, changes and deletes a password, and asks for what fails.
    private static let everyday = """
        static _Atomic int next;
        static void *use(void *unused) {
            char account[16];
            int count = snprintf(account, sizeof account, "%d", next++);
            for (int round = 0; round < 5; round++) {
                SecKeychainItemRef item;
                assert(SecKeychainAddGenericPassword(NULL, 4, "mail", count, account, 5, "s3crt", &item) == noErr);
                uint32_t length; void *data;
                assert(SecKeychainFindGenericPassword(NULL, 4, "mail", count, account, &length, &data, NULL) == noErr);
                assert(length == 5 && memcmp(data, "s3crt", 5) == 0);
                SecKeychainItemFreeContent(NULL, data);
                uint32_t tags[] = {kSecServiceItemAttr, kSecCommentItemAttr};
                SecKeychainAttributeInfo info = {2, tags, NULL};
                SecKeychainAttributeList *list;
                assert(SecKeychainItemCopyAttributesAndData(item, &info, NULL, &list, &length, &data) == noErr);
                assert(list->attr[0].length == 4 && memcmp(list->attr[0].data, "mail", 4) == 0);
                SecKeychainItemFreeAttributesAndData(list, data);
                assert(SecKeychainItemModifyContent(item, NULL, 3, "new") == noErr);
                SecKeychainSearchRef search; SecKeychainItemRef found;
                assert(SecKeychainSearchCreateFromAttributes(NULL, kSecGenericPasswordItemClass, NULL, &search) == noErr);
                while (SecKeychainSearchCopyNext(search, &found) == noErr) CFRelease(found);
                CFRelease(search);
                assert(SecKeychainItemDelete(item) == noErr);
                assert(SecKeychainItemDelete(item) == errSecInvalidItemRef);
                CFRelease(item);
            }
            return unused;
        }
        """

    @Test(arguments: ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so"])
    func programsWithAnotherAllocatorUseTheLibrary(library: String) throws {
        let result = try stage.run(
            """
            CFRelease(fresh("login"));
            use(NULL);
            pid_t child = fork();
            if (child == 0) _exit(SecKeychainFindGenericPassword(NULL, 4, "none", 0, NULL, NULL, NULL, NULL)
                == errSecItemNotFound ? 0 : 1);
            int status;
            assert(waitpid(child, &status, 0) == child && status == 0);
            """, stage.environment.merging(["LD_PRELOAD": library]) { $1 }, including: Self.headers,
            declaring: Self.everyday)
        // If the loader does not find the library, it warns on standard error.
        #expect(result.description == "exit 0\n")
    }

    @Test func threadsOfTheSmallestStackUseTheLibrary() throws {
        let result = try stage.run(
            """
            pthread_attr_t small;
            assert(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, sysconf(_SC_THREAD_STACK_MIN)) == 0);
            pthread_t threads[8];
            CFRelease(fresh("login"));
            for (int index = 0; index < 8; index++) assert(pthread_create(&threads[index], &small, use, NULL) == 0);
            for (int index = 0; index < 8; index++) assert(pthread_join(threads[index], NULL) == 0);
            """, including: Self.headers, declaring: "#undef assert\n\(Self.check)\n\(Self.everyday)")
        #expect(result.status == 0, "\(result)")
    }

    /// `assert` without a call that needs more stack than there is.
    private static let check =
        "#define assert(condition) do { if (!(condition)) _exit(__LINE__ & 127 ? __LINE__ & 127 : 1); } while (0)"

    @Test func childrenUseTheLibraryWhileThreadsOfTheirParentCallIt() throws {
        let result = try stage.run(
            """
            CFRelease(fresh("login"));
            pthread_t threads[4];
            for (int index = 0; index < 4; index++) assert(pthread_create(&threads[index], NULL, use, NULL) == 0);
            for (int round = 0; round < 20; round++) {
                pid_t child = fork();
                if (child == 0) {
                    alarm(60);
                    _exit(SecKeychainFindGenericPassword(NULL, 4, "none", 0, NULL, NULL, NULL, NULL)
                        == errSecItemNotFound ? 0 : 1);
                }
                int status;
                assert(waitpid(child, &status, 0) == child && status == 0);
            }
            for (int index = 0; index < 4; index++) assert(pthread_join(threads[index], NULL) == 0);
            """, including: Self.headers, declaring: Self.everyday)
        #expect(result.status == 0, "\(result)")
    }

    /// No thread is the library's.
    @Test func theProgramKeepsItsOneThread() throws {
        let result = try stage.run(
            """
            CFRelease(fresh("login"));
            use(NULL);
            FILE *file = fopen("/proc/self/status", "r");
            char line[256]; int threads = 0;
            while (fgets(line, sizeof line, file)) if (sscanf(line, "Threads: %d", &threads) == 1) break;
            fclose(file);
            assert(threads == 1);
            """, including: Self.headers, declaring: Self.everyday)
        #expect(result.status == 0, "\(result)")
    }

    /// An answer, and a call, that are longer than a frame of the wire.
    @Test func longMessagesArriveAsAWhole() throws {
        let result = try stage.run(
            """
            CFRelease(fresh("login"));
            enum { size = 1 << 16, times = 40, long_size = 3 << 20 };
            char *text = malloc(long_size);
            memset(text, 'x', long_size);
            SecKeychainAttribute given[] = {{kSecServiceItemAttr, 4, "long"}, {kSecCommentItemAttr, size, text}};
            SecKeychainAttributeList list = {2, given};
            SecKeychainItemRef item;
            assert(SecKeychainItemCreateFromContent(kSecGenericPasswordItemClass, &list, 1, "p", NULL, NULL, &item) == noErr);
            SecKeychainAttribute wanted[times] = {{0}};
            for (int index = 0; index < times; index++) wanted[index].tag = kSecCommentItemAttr;
            SecKeychainAttributeList read = {times, wanted};
            uint32_t length; void *data;
            assert(SecKeychainItemCopyContent(item, NULL, &read, &length, &data) == noErr);
            assert(length == 1 && *(char *)data == 'p');
            for (int index = 0; index < times; index++)
                assert(wanted[index].length == size && memcmp(wanted[index].data, text, size) == 0);
            SecKeychainItemFreeContent(&read, data);
            given[1].length = long_size;
            assert(SecKeychainItemModifyContent(item, &list, 3, "new") == errSecDataTooLarge);
            assert(SecKeychainItemCopyContent(item, NULL, NULL, &length, &data) == noErr && length == 1);
            SecKeychainItemFreeContent(NULL, data);
            CFRelease(item);
            free(text);
            """, including: Self.headers)
        #expect(result.status == 0, "\(result)")
    }

    @Test func aRelativePathBeginsInTheProgramsFolder() throws {
        let result = try stage.run(
            """
            assert(mkdir("\(stage.folder.path)/here", 0700) == 0 && chdir("\(stage.folder.path)/here") == 0);
            SecKeychainRef keychain = fresh("./mine.keychain");
            assert(access("\(stage.folder.path)/here/mine.keychain", R_OK) == 0);
            CFRelease(keychain);
            """, including: Self.headers + ["sys/stat.h"])
        #expect(result.status == 0, "\(result)")
    }
}
